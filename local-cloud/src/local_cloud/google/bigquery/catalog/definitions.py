"""Columns and options, as statements define them, in the API's form."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.api.types import Field
from local_cloud.google.bigquery.catalog.catalog import Document


def field(column: Any) -> Field:
    """Return a column of CREATE TABLE as a field of the API's."""
    constraints = [one.kind for one in column.constraints]
    kind = column.args.get("kind")
    if kind is None:
        raise invalid_query(f"column {column.name} has no type")
    column_field = field_of_type(column.name, kind)
    for one in constraints:
        if isinstance(one, exp.NotNullColumnConstraint):
            column_field["mode"] = "REQUIRED"
        elif not isinstance(one, exp.Properties):
            raise not_implemented(f"{type(one).__name__} of column {column.name}")
    return column_field


def field_of_type(name: str, kind: Any) -> Field:
    """Return a field of this type of sqlglot's."""
    text = kind.copy()
    text.set("expressions", [])
    word = text.sql("bigquery").upper()
    if word.startswith("ARRAY"):
        return field_of_type(name, kind.expressions[0]) | {"mode": "REPEATED"}
    if word.startswith("STRUCT"):
        inner = [field_of_type(one.name, one.args["kind"]) for one in kind.expressions]
        return {"name": name, "type": "RECORD", "mode": "NULLABLE", "fields": inner}
    return {"name": name, "type": word, "mode": "NULLABLE"}


def options(tree: Any) -> Document:
    """OPTIONS, PARTITION BY and CLUSTER BY, kept as the resource has them."""
    options_read: Document = {}
    properties = tree.args.get("properties")
    for one in properties.expressions if properties else []:
        match one:
            case exp.PartitionedByProperty():
                options_read |= _partitioning(one.this)
            case exp.Cluster() | exp.ClusterProperty():
                options_read["clustering"] = {"fields": [column.name for column in one.expressions]}
            case exp.TemporaryProperty():
                options_read["temporary"] = True
            case exp.LikeProperty():
                raise not_implemented("CREATE TABLE … LIKE")
            case exp.Property():
                _option(options_read, one.name, one.args["value"])
            case _:
                raise not_implemented(f"{type(one).__name__} of a table")
    return options_read


_TRUNCATED = (exp.DateTrunc, exp.TimestampTrunc, exp.DatetimeTrunc)


def _partitioning(by: Any) -> Document:
    """PARTITION BY a column, its day, or its hour, month or year."""
    if isinstance(by, exp.RangeBucket):
        raise not_implemented("PARTITION BY RANGE_BUCKET")
    unit = by.text("unit").upper() if isinstance(by, _TRUNCATED) else "DAY"
    column = by.this if isinstance(by, (*_TRUNCATED, exp.Date, exp.TsOrDsToDate)) else by
    if not isinstance(column, (exp.Column, exp.Identifier)):
        raise invalid_query(
            "PARTITION BY expression must be DATE(<timestamp_column>), DATE(<datetime_column>),"
            " DATETIME_TRUNC, TIMESTAMP_TRUNC, DATE_TRUNC or a DATE column"
        )
    if column.name.lower() in ("_partitiondate", "_partitiontime"):
        raise not_implemented(f"PARTITION BY {column.name}: a table without a column for it")
    if unit not in ("HOUR", "DAY", "MONTH", "YEAR"):
        raise invalid_query(f"PARTITION BY does not support the date part {unit}")
    return {"timePartitioning": {"type": unit, "field": column.name}}


def check_columns(options: Document, fields: list[Field]) -> None:
    """Raise Problem if PARTITION BY or CLUSTER BY names a column that the table has not."""
    kinds = {one["name"].lower(): one["type"] for one in fields}
    partitioned = options.get("timePartitioning", {}).get("field")
    clustered = options.get("clustering", {}).get("fields", [])
    for name in [*([partitioned] if partitioned else []), *clustered]:
        if name.lower() not in kinds:
            raise invalid_query(f"Unrecognized name: {name}")
    if partitioned and kinds[partitioned.lower()] not in ("DATE", "TIMESTAMP", "DATETIME"):
        raise invalid_query(
            "PARTITION BY expression must be a column of type DATE, DATETIME or TIMESTAMP:"
            f" {partitioned} has type {kinds[partitioned.lower()]}"
        )


def _option(options: Document, name: str, value: Any) -> None:
    match name.lower():
        case "description":
            options["description"] = value.name
        case "friendly_name":
            options["friendlyName"] = value.name
        case "labels":
            pairs = [one.expressions for one in value.expressions]
            options["labels"] = {key.name: said.name for key, said in pairs}
        case other:
            raise not_implemented(f"option {other} of a table")
