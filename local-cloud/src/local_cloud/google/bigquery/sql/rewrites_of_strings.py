"""Strings and JSON: positions, patterns, FORMAT."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.catalog.outcome import USER
from local_cloud.google.bigquery.duckdb.functions import FINGERPRINT
from local_cloud.google.bigquery.sql.rewrites_of_numbers import call

_SPECIFIER = re.compile(r"%([-+ 0#]*\d*(?:\.\d+)?)(.)", re.DOTALL)
_ESCAPES = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)
_GROUPS = re.compile(r"\((?!\?)|\(\?P?<")


def of_strings(node: Any) -> Any:
    """Return what stands in the node's place, or the node itself."""
    match node:
        case exp.Substring():
            given = [node.this, node.args.get("start"), node.args.get("length")]
            return call("substr", *(one for one in given if one is not None))
        case exp.StrPosition():
            return _position(node)
        case exp.RegexpExtract() | exp.RegexpExtractAll():
            return _one_group(node)
        case exp.Like() if not isinstance(node.expression, (exp.Any, exp.All)):
            return _escape(node)
        case exp.Format():
            return _format(node)
        case exp.ByteLength():
            return call("byte_length", node.this)
        case exp.FarmFingerprint():
            if len(node.expressions) != 1:
                raise invalid_query("FARM_FINGERPRINT takes one STRING or BYTES")
            return call(FINGERPRINT, call("bytes", node.expressions[0]))
        case exp.JSONType():
            return call("json_type", node.this)
        case exp.JSONExtract():
            return call("like_input", node, node.this)
        case exp.JSONExtractArray():
            return call("each_like_input", node, node.this)
        case exp.SessionUser() | exp.CurrentUser():
            return exp.Literal.string(USER)
        case exp.ApproxTopK() | exp.ApproxTopSum():
            word = "APPROX_TOP_COUNT" if isinstance(node, exp.ApproxTopK) else "APPROX_TOP_SUM"
            raise not_implemented(f"function {word}")
    return node


def _position(node: Any) -> Any:
    position, occurrence = node.args.get("position"), node.args.get("occurrence")
    first = occurrence is None or (occurrence.is_number and str(occurrence.this) == "1")
    if not first or not (position is None or isinstance(position, exp.Literal)):
        raise not_implemented("INSTR with an occurrence or a position other than a positive number")
    return node


def _one_group(node: Any) -> Any:
    pattern = _ESCAPES.sub("", str(node.expression.name))
    if len(_GROUPS.findall(pattern)) > 1:
        raise invalid_query(
            "Regular expressions passed into extraction functions must not have more than 1"
            " capturing group"
        )
    return node


def _escape(node: Any) -> Any:
    """Make a backslash escape the character after it; in DuckDB it does so only with ESCAPE."""
    if node.expression.is_string and "\\" not in node.expression.name:
        return node
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


def _format(node: Any) -> Any:
    """FORMAT as printf, whose specifiers are the same but for %t.

    cloud.google.com/bigquery/docs/reference/standard-sql/string_functions#format_string
    """
    if not node.this.is_string:
        raise not_implemented("FORMAT with a format string that is not a constant")
    values = list(node.expressions)
    given: list[Any] = []

    def replace(match: re.Match[str]) -> str:
        flags, kind = match.groups()
        if kind == "%" and not flags:
            return "%%"
        if kind not in "diouxXeEfFgGst":
            raise not_implemented(f"FORMAT with the specifier {match[0]}")
        if len(given) >= len(values):
            raise invalid_query("Too few arguments to FORMAT for pattern")
        given.append(_argument(values[len(given)], kind))
        return f"%{flags}{'s' if kind == 't' else kind}"

    text = _SPECIFIER.sub(replace, node.this.name)
    if len(given) < len(values):
        raise invalid_query("Too many arguments to FORMAT for pattern")
    return exp.Anonymous(this="printf", expressions=[exp.Literal.string(text), *given])


def _argument(value: Any, kind: str) -> Any:
    if kind == "t":
        null = exp.Literal.string("NULL")
        return exp.Coalesce(this=call("text", value), expressions=[null])
    wanted = "VARCHAR" if kind == "s" else "BIGINT" if kind in "diouxX" else "DOUBLE"
    return exp.cast(value.copy(), wanted)
