"""Query parameters: each `@name` and `?` becomes a constant of its type in the tree."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented

Parameter = dict[str, Any]
# The types of parameters, as sqlglot's BigQuery names them.
_TYPES = """
STRING BYTES INT64 FLOAT64 NUMERIC BIGNUMERIC BOOL TIMESTAMP DATE TIME DATETIME JSON INTERVAL
"""
TYPES = frozenset(_TYPES.split())
SYNONYMS = {"INTEGER": "INT64", "FLOAT": "FLOAT64", "BOOLEAN": "BOOL"}


def fill(tree: Any, parameters: list[Parameter]) -> Any:
    """Return the tree without parameters. Raises Problem for one that was not given."""
    named = {str(one["name"]).lower(): one for one in parameters if one.get("name")}
    unnamed = [one for one in parameters if not one.get("name")]
    wanted = [one for one in tree.find_all(exp.Parameter, exp.Placeholder)]
    marks = [one for one in wanted if isinstance(one, exp.Placeholder) and not one.this]
    if len(marks) > len(unnamed):
        raise invalid_query("Query parameter not found: not enough positional parameters")
    if len(marks) < len(unnamed) and not named:
        raise invalid_query(
            f"Query has {len(marks)} positional parameters, but {len(unnamed)} were given"
        )
    places = sorted(one.meta["place"] for one in marks)
    given = dict(zip(places, unnamed, strict=False))
    for node in wanted:
        if isinstance(node.this, exp.Parameter):
            raise not_implemented(f"the system variable @@{node.this.name}")
        if isinstance(node, exp.Placeholder) and not node.this:
            parameter = given[node.meta["place"]]
        else:
            parameter = named.get(node.name.lower())
            if parameter is None:
                raise invalid_query(f"Query parameter '{node.name}' not found")
        node.replace(_constant(_kind(parameter), parameter.get("parameterValue") or {}))
    return tree


def _kind(parameter: Parameter) -> dict[str, Any]:
    kind = parameter.get("parameterType")
    if not isinstance(kind, dict):
        raise invalid_query("a query parameter has no parameterType")
    return kind


def _constant(kind: dict[str, Any], value: dict[str, Any]) -> Any:
    name = str(kind.get("type", "")).upper()
    name = SYNONYMS.get(name, name)
    if name == "ARRAY":
        inner = kind["arrayType"]
        values = [_constant(inner, one) for one in value.get("arrayValues") or []]
        return exp.cast(
            exp.Array(expressions=values), f"ARRAY<{_write(inner)}>", dialect="bigquery"
        )
    if name == "STRUCT":
        given = value.get("structValues") or {}
        fields = [
            exp.PropertyEQ(
                this=exp.to_identifier(one["name"], quoted=True),
                expression=_constant(one["type"], given.get(one["name"]) or {}),
            )
            for one in kind["structTypes"]
        ]
        return exp.Struct(expressions=fields)
    if name not in TYPES:
        raise not_implemented(f"query parameters of type {name!r}")
    text = value.get("value")
    if text is None:
        return exp.cast(exp.null(), name, dialect="bigquery")
    if name == "BYTES":
        return exp.func("FROM_BASE64", exp.Literal.string(str(text)), dialect="bigquery")
    return exp.cast(exp.Literal.string(str(text)), name, dialect="bigquery")


def _write(kind: dict[str, Any]) -> str:
    """Return an array's element type as SQL."""
    name = str(kind.get("type", "")).upper()
    name = SYNONYMS.get(name, name)
    if name == "STRUCT":
        parts = (
            f"{exp.to_identifier(one['name'], quoted=True).sql('bigquery')} {_write(one['type'])}"
            for one in kind["structTypes"]
        )
        return f"STRUCT<{', '.join(parts)}>"
    if name not in TYPES:
        raise not_implemented(f"query parameters of type ARRAY of {name!r}")
    return name
