"""Columns and options, as statements define them, in the API's form."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.bigquery.catalog import Document
from local_cloud.bigquery.errors import invalid_query, not_implemented
from local_cloud.bigquery.types import Field


def field(column: Any) -> Field:
    """A column of CREATE TABLE as a field of the API's."""
    constraints = [one.kind for one in column.constraints]
    kind = column.args.get("kind")
    if kind is None:
        raise invalid_query(f"column {column.name} has no type")
    found = field_of_type(column.name, kind)
    for one in constraints:
        if isinstance(one, exp.NotNullColumnConstraint):
            found["mode"] = "REQUIRED"
        elif not isinstance(one, exp.Properties):
            raise not_implemented(f"{type(one).__name__} of column {column.name}")
    return found


def field_of_type(name: str, kind: Any) -> Field:
    """A field of this type of sqlglot's."""
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
    found: Document = {}
    properties = tree.args.get("properties")
    for one in properties.expressions if properties else []:
        match one:
            case exp.PartitionedByProperty():
                columns = [column.name for column in one.find_all(exp.Column, exp.Identifier)]
                found["timePartitioning"] = {"type": "DAY", "field": columns[0]}
            case exp.Cluster() | exp.ClusterProperty():
                found["clustering"] = {"fields": [column.name for column in one.expressions]}
            case exp.TemporaryProperty():
                found["temporary"] = True
            case exp.Property():
                _option(found, one.name, one.args["value"])
            case _:
                raise not_implemented(f"{type(one).__name__} of a table")
    return found


def _option(found: Document, name: str, value: Any) -> None:
    match name.lower():
        case "description":
            found["description"] = value.name
        case "friendly_name":
            found["friendlyName"] = value.name
        case "labels":
            pairs = [one.expressions for one in value.expressions]
            found["labels"] = {key.name: said.name for key, said in pairs}
        case other:
            raise not_implemented(f"option {other} of a table")
