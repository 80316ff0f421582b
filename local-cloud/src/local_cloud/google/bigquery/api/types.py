"""BigQuery's types, DuckDB's, and values as the API's JSON has them.

A schema is a list of fields as the API has them: {"name", "type", "mode", "fields"}. Types:
cloud.google.com/bigquery/docs/reference/rest/v2/tables#TableFieldSchema.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from local_cloud.google.bigquery.api.errors import invalid, not_implemented

Field = dict[str, Any]

# The API's names -> DuckDB's. BIGNUMERIC has fewer digits here.
TO_DUCKDB = {
    "STRING": "VARCHAR",
    "BYTES": "BLOB",
    "INTEGER": "BIGINT",
    "FLOAT": "DOUBLE",
    "NUMERIC": "DECIMAL(38, 9)",
    "BIGNUMERIC": "DECIMAL(38, 18)",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP": "TIMESTAMP WITH TIME ZONE",
    "DATE": "DATE",
    "TIME": "TIME",
    "DATETIME": "TIMESTAMP",
    "INTERVAL": "INTERVAL",
    "JSON": "JSON",
}
SYNONYMS = {
    "INT64": "INTEGER",
    "FLOAT64": "FLOAT",
    "BOOL": "BOOLEAN",
    "STRUCT": "RECORD",
    "DECIMAL": "NUMERIC",
    "BIGDECIMAL": "BIGNUMERIC",
}
# DuckDB's -> the API's, and the one of DuckDB that a stored column has.
_INTEGERS = ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger")
FROM_DUCKDB = {
    **dict.fromkeys((*_INTEGERS, "ubigint", "hugeint", "uhugeint"), "INTEGER"),
    "varchar": "STRING",
    "blob": "BYTES",
    "float": "FLOAT",
    "double": "FLOAT",
    "decimal": "NUMERIC",
    "boolean": "BOOLEAN",
    "timestamp with time zone": "TIMESTAMP",
    "timestamp": "DATETIME",
    "timestamp_ns": "DATETIME",
    "date": "DATE",
    "time": "TIME",
    "interval": "INTERVAL",
    "json": "JSON",
    "null": "INTEGER",  # the type of a bare NULL
    "uuid": "STRING",
    "enum": "STRING",
}
_NAME = re.compile(r"[^\W\d][\w\- $&%+=@#~]{0,299}")
MOST_COLUMNS = 10_000  # of a table, and of a result: cloud.google.com/bigquery/quotas
MODES = ("NULLABLE", "REQUIRED", "REPEATED")


def quote(name: str) -> str:
    """Return an identifier of DuckDB's."""
    return '"' + name.replace('"', '""') + '"'


def check_schema(fields: Any, depth: int = 0) -> list[Field]:
    """Return a schema that a client sent, with the API's own names. Raises Problem."""
    if not isinstance(fields, list) or not all(isinstance(one, dict) for one in fields):
        raise invalid("Invalid schema: a list of fields is needed")
    if len(fields) > MOST_COLUMNS:
        raise invalid(f"Invalid schema: {len(fields)} columns; the maximum is {MOST_COLUMNS}")
    if depth > 15:
        raise invalid("Invalid schema: more than 15 levels of RECORD")
    seen: set[str] = set()
    for one in fields:
        name = one.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise invalid(f"Invalid field name {name!r}")
        if name.lower() in seen:
            raise invalid(f"Duplicate field name: {name}")
        seen.add(name.lower())
    return [_check_field(one, depth) for one in fields]


def _check_field(field: Field, depth: int) -> Field:
    kind = str(field.get("type", "")).upper()
    kind = SYNONYMS.get(kind, kind)
    mode = str(field.get("mode") or "NULLABLE").upper()
    if kind in ("GEOGRAPHY", "RANGE"):
        raise not_implemented(f"type {kind}")
    if kind != "RECORD" and kind not in TO_DUCKDB:
        raise invalid(f"Invalid value for type: {field.get('type')!r} is not a valid value")
    if mode not in MODES:
        raise invalid(f"Invalid value for mode: {mode!r} is not a valid value")
    checked: Field = {"name": field["name"], "type": kind, "mode": mode}
    if kind == "RECORD":
        checked["fields"] = check_schema(field.get("fields"), depth + 1)
        if not checked["fields"]:
            raise invalid(f"Field {field['name']} is type RECORD but has no schema")
    if field.get("defaultValueExpression"):
        raise not_implemented("default values of columns")
    for kept in ("description", "maxLength", "precision", "scale"):
        if kept in field:
            checked[kept] = str(field[kept])
    return checked


def duckdb_type(field: Field) -> str:
    """Return DuckDB's type of a column with this field."""
    if field["type"] == "RECORD":
        inner = ", ".join(f"{quote(one['name'])} {duckdb_type(one)}" for one in field["fields"])
        kind_text = f"STRUCT({inner})"
    else:
        kind_text = TO_DUCKDB[field["type"]]
    return f"{kind_text}[]" if field.get("mode") == "REPEATED" else kind_text


def field_of(name: str, kind: Any) -> Field:
    """Return the field of a column of DuckDB's; kind: its DuckDBPyType."""
    mode = "NULLABLE"
    if kind.id in ("list", "array"):
        kind, mode = kind.children[0][1], "REPEATED"
        if kind.id in ("list", "array"):
            raise invalid(f"column {name} is an array of arrays, which BigQuery does not have")
    if kind.id == "struct":
        inner = [field_of(one or f"_field_{i + 1}", each) for i, (one, each) in _number(kind)]
        return {"name": name, "type": "RECORD", "mode": mode, "fields": inner}
    said = str(kind).lower()
    known = FROM_DUCKDB.get(said) or FROM_DUCKDB.get(kind.id) or FROM_DUCKDB.get(said.strip('"'))
    if known is None:
        raise not_implemented(f"results of type {kind}")
    if known == "NUMERIC" and dict(kind.children)["scale"] > 9:
        known = "BIGNUMERIC"
    return {"name": name, "type": known, "mode": mode}


def _number(kind: Any) -> list[tuple[int, tuple[str, Any]]]:
    return list(enumerate(kind.children))


Form = Callable[[Any], Any]


def form(field: Field, *, micros: bool = False) -> Form:
    """Return what makes a value of DuckDB's the API's; micros: timestamps as whole microseconds.

    The API has {"v": value} for each cell; a RECORD is {"f": cells}, an array a list of cells.
    """
    if field.get("mode") == "REPEATED":
        each = form(field | {"mode": "NULLABLE"}, micros=micros)
        return lambda value: [{"v": each(_element(one, field))} for one in value or []]
    if field["type"] == "RECORD":
        inner = [form(one, micros=micros) for one in field["fields"]]
        return lambda value: None if value is None else _record(inner, value)
    one = _timestamp(micros) if field["type"] == "TIMESTAMP" else FORMS[field["type"]]
    return lambda value: None if value is None else one(value)


def _element(value: Any, field: Field) -> Any:
    """Return an array's element.

    One that is NULL cannot be in a result, and clients crash over it.
    """
    if value is None:
        name = field["name"]
        raise invalid(f"Array cannot have a null element; error in writing field {name}")
    return value


def _record(inner: list[Form], value: Any) -> dict[str, Any]:
    values = value.values() if isinstance(value, dict) else value
    return {"f": [{"v": make(one)} for make, one in zip(inner, values, strict=True)]}


def _timestamp(micros: bool) -> Form:
    def render(value: datetime) -> str:
        passed = value - datetime(1970, 1, 1, tzinfo=UTC)
        if micros:
            return str(passed // timedelta(microseconds=1))
        return repr(passed.total_seconds())

    return render


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value))


def _numeric(value: Any) -> str:
    text = f"{Decimal(value):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_PARTS = re.compile(r"(-?\d+) (year|month|day)s?")
_CLOCK = re.compile(r"(-?)(\d+):(\d+):(\d+)(?:\.(\d+))?$")


def _interval(text: str) -> str:
    """Write DuckDB's "1 year 2 months 3 days 04:05:06.5" as BigQuery's "1-2 3 4:5:6.5".

    cloud.google.com/bigquery/docs/reference/standard-sql/data-types#interval_type
    """
    parts = {unit: int(number) for number, unit in _PARTS.findall(text)}
    months = 12 * parts.get("year", 0) + parts.get("month", 0)
    sign = "-" if months < 0 else ""
    match = _CLOCK.search(text)
    clock = "0:0:0"
    if match:
        fraction = (match[5] or "").rstrip("0")
        clock = f"{match[1]}{int(match[2])}:{int(match[3])}:{int(match[4])}"
        clock += f".{fraction}" if fraction else ""
    return f"{sign}{abs(months) // 12}-{abs(months) % 12} {parts.get('day', 0)} {clock}"


def _iso(value: date | time | datetime) -> str:
    return value.isoformat()


FORMS: dict[str, Form] = {
    "STRING": str,
    "BYTES": lambda value: base64.b64encode(value).decode(),
    "INTEGER": lambda value: str(int(value)),
    "FLOAT": _float,
    "NUMERIC": _numeric,
    "BIGNUMERIC": _numeric,
    "BOOLEAN": lambda value: "true" if value else "false",
    "DATE": _iso,
    "TIME": _iso,
    "DATETIME": _iso,
    "INTERVAL": _interval,
    "JSON": str,
}
