"""Numbers: NUMERIC keeps its digits, and what has no result is an error and not NaN."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import not_implemented
from local_cloud.google.bigquery.duckdb.functions import PREFIX, SAFE

_DIGITS = {"DECIMAL": 9, "BIGDECIMAL": 18}  # after the point, as types.TO_DUCKDB has them
_DIVIDES = ("bq_divide", "bq_divide_once")


def call(name: str, *arguments: Any) -> Any:
    """Return a call of one of the macros in duckdb/functions.sql."""
    return exp.Anonymous(this=PREFIX + name, expressions=[one.copy() for one in arguments])


def of_numbers(node: Any, columns: dict[str, str]) -> Any:
    """Return what stands in the node's place, or the node itself."""
    match node:
        case exp.DataType() if node.this.name in _DIGITS and not node.expressions:
            return exp.DataType.build(f"DECIMAL(38, {_DIGITS[node.this.name]})", dialect="duckdb")
        case exp.Div():
            return _divide(node, columns)
        case exp.SafeDivide():
            once = "divide_any" if node.find(exp.AggFunc) else "divide_once"
            return safe(call(once, node.this, node.expression))
        case exp.Mul() if _is_numeric(node, columns):
            if node.find(exp.AggFunc):  # DuckDB knows their types too late to choose a macro
                raise not_implemented("products of aggregates of NUMERIC: put them in a subquery")
            return call("multiply", node.this, node.expression)
        case exp.Avg():
            return _mean(node, columns)
        case exp.Sqrt() | exp.Exp() | exp.Ln():
            return call(node.key, node.this)
        case exp.Log() if node.expression:  # LOG10(x) is Log(10, x)
            return call("log", node.expression, node.this)
        case exp.Pow():
            return call("pow", node.this, node.expression)
        case exp.Cast():
            return _cast(node)
    return node


def safe(node: Any) -> Any:
    """Return a call as `SAFE.` makes it: NULL where it would raise."""
    if isinstance(node, exp.Anonymous) and str(node.this).startswith(PREFIX):
        name = str(node.this).removeprefix(PREFIX)
        return exp.Anonymous(this=SAFE + name, expressions=node.expressions)
    return exp.Try(this=node.copy())


def _divide(node: Any, columns: dict[str, str]) -> Any:
    """Divide so that a division by zero is an error; DuckDB's result is infinity."""
    if node.find(exp.AggFunc):  # DuckDB knows their types too late to choose a macro
        if _is_numeric(node, columns):
            raise not_implemented("divisions of aggregates of NUMERIC: put them in a subquery")
        return call("divide_any", node.this.unnest(), node.expression.unnest())
    nested = any(str(one.this) in _DIVIDES for one in node.expression.find_all(exp.Anonymous))
    return call("divide_once" if nested else "divide", node.this.unnest(), node.expression.unnest())


def _is_numeric(node: Any, columns: dict[str, str]) -> bool:
    """Return whether an expression shows by itself that a NUMERIC is in it."""
    kinds = {columns.get(one.name.lower()) for one in node.find_all(exp.Column)}
    return bool(kinds & {"NUMERIC", "BIGNUMERIC"}) or any(
        one.this.name in _DIGITS for one in node.find_all(exp.DataType)
    )


def _mean(node: Any, columns: dict[str, str]) -> Any:
    """Return the mean of a NUMERIC as one; DuckDB's is a DOUBLE."""
    if not _is_numeric(node, columns):
        return node
    if isinstance(node.parent, (exp.Window, exp.Filter, exp.IgnoreNulls)):
        raise not_implemented("AVG of NUMERIC as a window function")
    return call("mean", exp.Sum(this=node.this.copy()), exp.Count(this=node.this.copy()))


def _cast(node: Any) -> Any:
    """Round a DOUBLE half away from zero; DuckDB rounds half to even."""
    kind, value = node.to.this.name, node.this
    tried = isinstance(node, exp.TryCast)
    if kind == "BIGINT" and not (value.is_string and str(value.this).isdecimal()):
        converted = call("int64", value)
    elif kind == "BOOLEAN" and value.is_string:
        converted = call("bool", value)
    elif kind in ("TEXT", "VARCHAR") and not value.is_string:
        return call("text", value)
    else:
        return node
    return safe(converted) if tried else converted
