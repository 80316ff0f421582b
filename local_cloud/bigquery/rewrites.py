"""Expressions whose translation by sqlglot gives other results in DuckDB than in BigQuery."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.bigquery.errors import not_implemented

# column (in lower case) -> its type where all tables that are read agree, in the API's words
Columns = dict[str, str]

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod, exp.Neg, exp.Array, exp.Tuple)
_CONTAINERS = (exp.PropertyEQ, exp.Struct, exp.Alias, exp.If, exp.Case, exp.Coalesce, exp.Select)
_OF_CASTS = {
    "DATE": "DATE",
    "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMP": "DATETIME",
    "DATETIME": "DATETIME",
    "TIME": "TIME",
}
_DATES: tuple[Any, ...] = (
    exp.CurrentDate,
    exp.Date,
    exp.DateFromParts,
    exp.StrToDate,
    exp.LastDay,
    exp.TsOrDsToDate,
)
_TIMESTAMPS: tuple[Any, ...] = (exp.CurrentTimestamp, exp.Timestamp, exp.UnixToTime, exp.StrToTime)
_TIMESTAMPS += (exp.TimestampAdd, exp.TimestampSub, exp.TimestampTrunc)
_DATETIMES: tuple[Any, ...] = (exp.CurrentDatetime, exp.Datetime, exp.ParseDatetime)
_DATETIMES += (exp.DatetimeAdd, exp.DatetimeSub, exp.DatetimeTrunc)


def rewritten(node: Any, columns: Columns) -> Any:
    """What stands in the node's place, or the node itself."""
    match node:
        case exp.Literal(is_string=False):
            return _wide(node)
        case exp.Div():
            return _div(node)
        case exp.DateAdd() | exp.DateSub() | exp.DateTrunc() if not _is_cast(node.parent):
            return _date(node, columns)
        case exp.Extract():
            return _extract(node)
        case exp.SafeFunc():
            return exp.Try(this=node.this.copy())
        case exp.Unnest() if node.args.get("offset"):
            _count_from_zero(node)
    return node


def _wide(node: Any) -> Any:
    """BigQuery's numbers have 64 bits; DuckDB's 1 has 32, and its 1.5 is a DECIMAL."""
    text = str(node.this)
    if not text.isdecimal():
        if isinstance(node.parent, exp.Cast):
            return node
        return exp.cast(exp.Literal.number(text), "DOUBLE")
    if not isinstance(node.parent, _ARITHMETIC + _CONTAINERS):
        return node
    if node.arg_key not in ("this", "expression", "expressions", "true", "false", "default"):
        return node
    return exp.cast(exp.Literal.number(text), "BIGINT")


def _is_cast(node: Any) -> bool:
    return isinstance(node, exp.Cast)


def _div(node: Any) -> Any:
    """A division by zero is an error; DuckDB's result is infinity."""
    if node.args.get("safe") or isinstance(node.parent, exp.If):
        return node
    divisor = node.expression.unnest()
    divisor = divisor.this if isinstance(divisor, exp.Cast) else divisor
    if isinstance(divisor, exp.Literal) and str(divisor.this) not in ("0", "0.0"):
        return node
    if divisor.find(exp.Div):  # it would be written twice at each level
        return node
    said = exp.Anonymous(this="error", expressions=[exp.Literal.string("division by zero")])
    zero = exp.EQ(this=exp.paren(node.expression.copy()), expression=exp.Literal.number(0))
    return exp.paren(exp.Case(ifs=[exp.If(this=zero, true=said)], default=node.copy()))


def _date(node: Any, columns: Columns) -> Any:
    """DuckDB adds to a DATE, or truncates it, to a TIMESTAMP."""
    known = kind_of(node.this, columns)
    if known is None:
        known = "DATE"
    return exp.cast(node.copy(), "DATE") if known == "DATE" else node


def kind_of(node: Any, columns: Columns) -> str | None:
    """DATE, TIMESTAMP, DATETIME or TIME, as far as an expression shows it by itself."""
    match node:
        case exp.Cast() | exp.TryCast():
            return _OF_CASTS.get(node.to.this.name)
        case exp.Column():
            return columns.get(node.name.lower())
        case exp.Paren() | exp.Alias() | exp.DateAdd() | exp.DateSub() | exp.DateTrunc():
            return kind_of(node.this, columns)
    for kinds, name in ((_DATES, "DATE"), (_TIMESTAMPS, "TIMESTAMP"), (_DATETIMES, "DATETIME")):
        if isinstance(node, kinds):
            return name
    return None


_STRFTIME = {"WEEK": "%U", "WEEK(SUNDAY)": "%U", "WEEK(MONDAY)": "%W"}


def _extract(node: Any) -> Any:
    """DAYOFWEEK counts from 1, WEEK from the first Sunday; DATE and TIME are parts, too."""
    part = node.this.sql("bigquery").upper()
    value = node.expression.copy()
    if part == "DAYOFWEEK":
        plain = exp.Extract(this=exp.var("DOW"), expression=value)
        return exp.paren(exp.Add(this=plain, expression=exp.Literal.number(1)))
    if part in ("DATE", "TIME", "DATETIME"):
        return exp.cast(value, {"DATETIME": "TIMESTAMP"}.get(part, part))
    if part in _STRFTIME:
        pattern = exp.Literal.string(_STRFTIME[part])
        text = exp.Anonymous(this="strftime", expressions=[value, pattern])
        return exp.cast(text, "BIGINT")
    if part.startswith("WEEK("):
        raise not_implemented(f"EXTRACT({part} …)")
    if part == "ISOWEEK":
        return exp.Extract(this=exp.var("WEEK"), expression=value)
    return node


def _count_from_zero(node: Any) -> None:
    """WITH OFFSET counts from 0, DuckDB's WITH ORDINALITY from 1."""
    name = node.args["offset"].name
    query = node.find_ancestor(exp.Select)
    for column in list(query.find_all(exp.Column)) if query else []:
        if column.name.lower() == name.lower() and not column.table:
            counted: Any = exp.paren(exp.Sub(this=column.copy(), expression=exp.Literal.number(1)))
            if isinstance(column.parent, exp.Select) and column.arg_key == "expressions":
                counted = exp.alias_(counted, name)
            column.replace(counted)
