"""Times: differences in whole units, formats with time zones, TIMESTAMP and not DATETIME."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.sql.rewrites_of_numbers import call

_UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY")
# What strftime of BigQuery and of DuckDB write alike; sqlglot has put "%-d" for BigQuery's "%e".
_ALIKE = re.compile(r"%(?:-d|[YmdHIMSyBbAapjfUWuVGzZ%])")
_ANY = re.compile(r"%(?:-?.|E.)", re.DOTALL)


def of_times(node: Any) -> Any:
    """Return what stands in the node's place, or the node itself."""
    match node:
        case exp.TimestampDiff():
            return _difference(node)
        case exp.TimeToStr():
            return _text(node)
        case exp.StrToTime() if node.args.get("format"):
            return _parse(node)
        case exp.UnixToTime():
            return exp.cast(node.copy(), "TIMESTAMPTZ")
        case exp.DateFromUnixDate():
            return exp.cast(node.copy(), "DATE")
        case exp.String() if node.args.get("zone"):
            return call("zoned_text", exp.cast(node.this.copy(), "TIMESTAMPTZ"), node.args["zone"])
        case exp.Extract() if node.this.name.upper() in ("MILLISECOND", "MICROSECOND"):
            size = 1000 if node.this.name.upper() == "MILLISECOND" else 1_000_000
            return exp.Mod(this=exp.paren(node.copy()), expression=exp.Literal.number(size))
    return node


def _difference(node: Any) -> Any:
    """Count whole units; DuckDB's date_diff counts how often a new unit begins.

    cloud.google.com/bigquery/docs/reference/standard-sql/timestamp_functions#timestamp_diff
    """
    unit = node.text("unit").upper()
    if unit not in _UNITS:
        raise invalid_query(f"TIMESTAMP_DIFF does not support the {unit} date part")
    ends = [exp.cast(one.copy(), "TIMESTAMPTZ") for one in (node.expression, node.this)]
    return exp.Anonymous(this="date_sub", expressions=[exp.Literal.string(unit.lower()), *ends])


def _check(form: Any) -> str:
    if not form.is_string:
        raise not_implemented("a format of times that is not a constant")
    for element in _ANY.findall(form.name):
        if not _ALIKE.fullmatch(element):
            raise not_implemented(f"the format element {element} of times")
    return str(form.name)


def _text(node: Any) -> Any:
    form, zone, value = _check(node.args["format"]), node.args.get("zone"), node.this.copy()
    if zone is None or zone.name.upper() == "UTC":
        form = form.replace("%Z", "UTC").replace("%z", "+0000")
    elif "%Z" in form or "%z" in form:
        raise not_implemented("the format elements %Z and %z with a time zone")
    else:
        inner = value.this if isinstance(value, exp.TsOrDsToTimestamp) else value
        value = exp.AtTimeZone(this=exp.cast(inner.copy(), "TIMESTAMPTZ"), zone=zone.copy())
    if isinstance(value, exp.TsOrDsToTime):  # strftime takes no TIME
        day = exp.cast(exp.Literal.string("1970-01-01"), "DATE")
        value = exp.paren(exp.Add(this=day, expression=exp.cast(value.this.copy(), "TIME")))
    pieces = re.split(r"(%-d)", form)
    texts = [_piece(value, one) for one in pieces if one] or [exp.Literal.string("")]
    text = texts[0]
    for one in texts[1:]:
        text = exp.DPipe(this=text, expression=one)
    return exp.paren(text) if len(texts) > 1 else text


def _piece(value: Any, form: str) -> Any:
    """Return a part of a format; %e pads the day with a space."""
    text = exp.Anonymous(this="strftime", expressions=[value.copy(), exp.Literal.string(form)])
    if form != "%-d":
        return text
    padding = [text, exp.Literal.number(2), exp.Literal.string(" ")]
    return exp.Anonymous(this="lpad", expressions=padding)


def _parse(node: Any) -> Any:
    """PARSE_TIMESTAMP: the text's own offset, or the zone that is given, or UTC."""
    form, zone = node.args["format"], node.args.get("zone")
    plain = node.copy()
    plain.set("zone", None)
    if zone is None:
        return exp.cast(plain, "TIMESTAMPTZ")
    if "%z" in form.name or "%Z" in form.name or not form.is_string:
        raise not_implemented("PARSE_TIMESTAMP with a zone in the text and as an argument")
    return exp.AtTimeZone(this=plain, zone=zone.copy())
