"""INFORMATION_SCHEMA: what a dataset holds, as a query of constants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.api.types import Field
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, Name

VIEWS = {
    "SCHEMATA": ["catalog_name", "schema_name", "location", "creation_time"],
    "TABLES": ["table_catalog", "table_schema", "table_name", "table_type", "creation_time"],
    "COLUMNS": [
        "table_catalog",
        "table_schema",
        "table_name",
        "column_name",
        "ordinal_position",
        "is_nullable",
        "data_type",
    ],
    "VIEWS": ["table_catalog", "table_schema", "table_name", "view_definition"],
}
TYPES = {"creation_time": "TIMESTAMPTZ", "ordinal_position": "BIGINT"}
_ASKED = re.compile(r"(?:(.*)\.)?INFORMATION_SCHEMA\.(\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """A view of INFORMATION_SCHEMA that a query names."""

    project: str
    dataset: str
    view: str


def read_request(table: Any) -> Asked | None:
    """Return what a table node asks for; None if it is a table."""
    match = _ASKED.fullmatch(".".join(part.name for part in table.parts))
    if match is None:
        return None
    before = (match[1] or "").split(".") if match[1] else []
    view = match[2].upper()
    if view not in VIEWS:
        raise not_implemented(f"INFORMATION_SCHEMA.{view}")
    if len(before) > 2:
        raise invalid_query(f'Invalid table name: "{match[0]}"')
    project = before[0] if len(before) == 2 else ""
    return Asked(project, before[-1] if before else "", view)


def query(catalog: Catalog, project: str, dataset: str, *, request: Asked) -> Any:
    """Return the rows of a view as a query."""
    project, dataset = request.project or project, request.dataset or dataset
    if request.view == "SCHEMATA":
        return _constant("SCHEMATA", _schemata(catalog, project))
    if not dataset:
        raise invalid_query(f"INFORMATION_SCHEMA.{request.view} needs a dataset before it")
    catalog.dataset(project, dataset)
    items = catalog.items(project, dataset)
    rows = [row for name, document in items for row in _rows(request.view, name, document)]
    return _constant(request.view, rows)


def _schemata(catalog: Catalog, project: str) -> list[list[Any]]:
    return [
        [project, name, document["location"], int(document["creationTime"])]
        for name, document in catalog.datasets(project)
        if not name.startswith("_")
    ]


def _rows(view: str, name: Name, document: Document) -> list[list[Any]]:
    where: list[Any] = [name.project, name.dataset, name.table]
    if view == "TABLES" and document["type"] in ("TABLE", "VIEW"):
        kind = "BASE TABLE" if document["type"] == "TABLE" else "VIEW"
        return [[*where, kind, int(document["creationTime"])]]
    if view == "VIEWS" and document["type"] == "VIEW":
        return [[*where, document["view"]["query"]]]
    if view == "COLUMNS" and document["type"] in ("TABLE", "VIEW"):
        return [
            [*where, one["name"], place, _nullable(one), standard_type(one)]
            for place, one in enumerate(document["schema"]["fields"], 1)
        ]
    return []


def _nullable(field: Field) -> str:
    return "NO" if field.get("mode") == "REQUIRED" else "YES"


STANDARD = {"INTEGER": "INT64", "FLOAT": "FLOAT64", "BOOLEAN": "BOOL"}


def standard_type(field: Field) -> str:
    """Return the type as SQL writes it: INT64, ARRAY<STRUCT<a STRING>>."""
    if field["type"] == "RECORD":
        inner = ", ".join(f"{one['name']} {standard_type(one)}" for one in field["fields"])
        written = f"STRUCT<{inner}>"
    else:
        written = STANDARD.get(field["type"]) or str(field["type"])
    return f"ARRAY<{written}>" if field.get("mode") == "REPEATED" else written


def _constant(view: str, rows: list[list[Any]]) -> Any:
    """SELECT ... UNION ALL ..., or an empty one with the same columns."""
    columns = VIEWS[view]
    if not rows:
        return _select(columns, [None] * len(columns)).where(exp.false())
    values = [exp.Tuple(expressions=_values(columns, row)) for row in rows]
    names = [exp.to_identifier(one) for one in columns]
    alias = exp.TableAlias(this=exp.to_identifier("constant"), columns=names)
    return exp.select("*").from_(exp.Values(expressions=values, alias=alias))


def _select(columns: list[str], row: list[Any]) -> Any:
    named = zip(columns, _values(columns, row), strict=True)
    return exp.select(*(exp.alias_(value, name) for name, value in named))


def _values(columns: list[str], row: list[Any]) -> list[Any]:
    return [_value(name, value) for name, value in zip(columns, row, strict=True)]


def _value(column: str, value: Any) -> Any:
    kind = TYPES.get(column, "TEXT")
    if value is None:
        return exp.cast(exp.null(), kind)
    if column == "creation_time":
        value = datetime.fromtimestamp(value / 1000, UTC).isoformat()
    return exp.cast(exp.convert(value), kind)
