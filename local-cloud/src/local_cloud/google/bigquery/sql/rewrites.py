"""Expressions whose translation by sqlglot gives other results in DuckDB than in BigQuery."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import not_implemented
from local_cloud.google.bigquery.sql.rewrites_of_numbers import call, of_numbers, safe
from local_cloud.google.bigquery.sql.rewrites_of_sizes import of_sizes
from local_cloud.google.bigquery.sql.rewrites_of_strings import of_strings
from local_cloud.google.bigquery.sql.rewrites_of_times import of_times

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
    """Return what stands in the node's place, or the node itself."""
    match node:
        case exp.Literal(is_string=False):
            return _wide(node)
        case exp.DateAdd() | exp.DateSub() | exp.DateTrunc() if not _is_cast(node.parent):
            return _date(node, columns)
        case exp.Add() | exp.Sub():
            return _days(node, columns)
        case exp.Round() | exp.Trunc() if node.args.get("decimals"):
            node.set("decimals", exp.cast(node.args["decimals"], "INT"))
        case exp.Extract() if node.this.name.upper() not in ("MILLISECOND", "MICROSECOND"):
            return _extract(node)
        case exp.SafeFunc():
            return safe(node.this)
        case exp.Bracket() if node.args.get("offset") is not None:
            return _element(node)
        case exp.Unnest() if node.args.get("offset"):
            _count_from_zero(node)
        case exp.Star() if isinstance(node.parent, exp.Select):
            _require_names(node.parent)
    for others in (of_sizes, of_strings, of_times):
        if (new := others(node)) is not node:
            return new
    return of_numbers(node, columns)


def _wide(node: Any) -> Any:
    """Widen a number: BigQuery's have 64 bits; DuckDB's 1 has 32, and its 1.5 is a DECIMAL."""
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


def _element(node: Any) -> Any:
    """Read an element: one that is not there is an error, or NULL.

    DuckDB counts below 0 from the end.
    """
    place = node.expressions[0].copy()
    if node.args["offset"]:
        place = exp.paren(exp.Sub(this=place, expression=exp.Literal.number(1)))
    element = call("at", node.this, place)
    return safe(element) if node.args.get("safe") else element


def _days(node: Any, columns: Columns) -> Any:
    """Return a DATE and a number of days; DuckDB has that for numbers of 32 bits."""
    kinds = [kind_of(one, columns) for one in (node.this, node.expression)]
    if kinds == ["DATE", "DATE"]:
        raise not_implemented("differences of DATEs with - (an INTERVAL): use DATE_DIFF")
    if kinds[0] == "DATE" and not node.expression.unnest().find(exp.Interval):
        return type(node)(this=node.this.copy(), expression=exp.cast(node.expression.copy(), "INT"))
    return node


def _date(node: Any, columns: Columns) -> Any:
    """Return a DATE where DuckDB makes a TIMESTAMP: where it adds to a DATE, or truncates it."""
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
        case exp.Max() | exp.Min() | exp.AnyValue():
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


def _require_names(query: Any) -> None:
    """Refuse * where DuckDB's columns differ: in order (UNPIVOT) or in value (WITH OFFSET)."""
    sources = [query.args.get("from_"), *(query.args.get("joins") or [])]
    tables = [one.this for one in sources if one is not None]
    if any(isinstance(one, exp.Unnest) and one.args.get("offset") for one in tables):
        raise not_implemented("SELECT * of UNNEST … WITH OFFSET: name the columns")
    if any(pivot.args.get("unpivot") for one in tables for pivot in one.args.get("pivots") or []):
        raise not_implemented("SELECT * of UNPIVOT: name the columns")


def _is_of_another(column: Any, query: Any, name: str) -> bool:
    """Return whether a nested query has an offset of this name itself.

    Raise Problem if it may have a column of this name.
    """
    inner = column.find_ancestor(exp.Select)
    while inner is not None and inner is not query:
        sources = [inner.args.get("from_"), *(inner.args.get("joins") or [])]
        tables = [one.this for one in sources if one is not None]
        offsets = [one.args["offset"].name.lower() for one in tables if one.args.get("offset")]
        if name.lower() in offsets:
            return True
        if any(isinstance(one, exp.Table | exp.Subquery) for one in tables):
            raise not_implemented(
                f"a column {name} in a query inside one WITH OFFSET AS {name}: use another name"
            )
        inner = inner.find_ancestor(exp.Select)
    return False


def _count_from_zero(node: Any) -> None:
    """WITH OFFSET counts from 0, DuckDB's WITH ORDINALITY from 1."""
    name = node.args["offset"].name
    query = node.find_ancestor(exp.Select)
    for column in list(query.find_all(exp.Column)) if query else []:
        if column.name.lower() == name.lower() and not column.table:
            if _is_of_another(column, query, name):
                continue
            counted: Any = exp.paren(exp.Sub(this=column.copy(), expression=exp.Literal.number(1)))
            if isinstance(column.parent, exp.Select) and column.arg_key == "expressions":
                counted = exp.alias_(counted, name)
            column.replace(counted)
