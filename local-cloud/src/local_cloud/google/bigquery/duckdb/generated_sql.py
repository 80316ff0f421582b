"""Check the SQL that is made for DuckDB with DuckDB's own parser: the second net of two.

sql/allow_list.py checks what was asked. This checks what came of it: a text that is written
where SQL is (an alias, a collation) cannot become a call or a table that nobody checked.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.duckdb import duckdb_functions
from local_cloud.google.bigquery.duckdb.file import SETTINGS

CHANGES = ("INSERT", "UPDATE", "DELETE")
# What DuckDB calls the parts of a query that are no expressions.
_PARTS = """
SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE
INSERT_QUERY_NODE UPDATE_QUERY_NODE DELETE_QUERY_NODE
BASE_TABLE SUBQUERY JOIN TABLE_FUNCTION EMPTY EXPRESSION_LIST PIVOT
ORDER_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER DISTINCT_MODIFIER
ORDER_DEFAULT ORDER_ASCENDING ORDER_DESCENDING ASCENDING DESCENDING
"""
PARTS = frozenset(_PARTS.split())
TARGETS = ("BASE_TABLE", "INSERT_QUERY_NODE")  # parts that name a table
_OWN_TABLE = re.compile(r"ml_\d+")  # ml/expansion.py
_SERIALIZE = "SELECT json_serialize_sql(CAST(? AS VARCHAR), skip_default := true)"

Scoped = tuple[dict[str, Any], frozenset[str]]  # a node; the names of WITH that it can see


def check(text: str, kind: str = "SELECT") -> None:
    """Raise Problem unless the statement has known parts, functions and tables only."""
    if kind in CHANGES:  # DuckDB serializes no other statement than SELECT
        text = f"WITH changed AS ({text}\n) SELECT 1"
    with _parser().cursor() as cursor:
        (serialized,) = cursor.execute(_SERIALIZE, [text]).fetchall()[0]
    parsed = json.loads(serialized)
    if parsed["error"]:
        raise not_implemented(f"this query as DuckDB's SQL ({parsed['error_message']})")
    for node, names in _nodes(parsed["statements"]):
        _check_node(node, names)


@functools.cache
def _parser() -> duckdb.DuckDBPyConnection:
    """Return an empty database, which only parses."""
    connection = duckdb.connect(config={**SETTINGS, "threads": "1"})
    connection.execute("SET lock_configuration = true")
    return connection


def _nodes(tree: Any) -> Iterator[Scoped]:
    waiting: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, names = waiting.pop()
        if isinstance(node, list):
            waiting += [(one, names) for one in node]
        elif isinstance(node, dict):
            defined = (node.get("cte_map") or {}).get("map") or []
            names |= {str(one["key"]).lower() for one in defined}
            yield node, names
            waiting += [(one, names) for one in node.values()]


def _check_node(node: dict[str, Any], names: frozenset[str]) -> None:
    path = (node.get("qualified_name") or {}).get("path") or []
    kind = node["type"] if isinstance(node.get("type"), str) else ""
    if "class" not in node and kind and kind not in PARTS:
        raise not_implemented(f"{kind} in a query")
    if "function_name" in node:
        _check_function(str(node["function_name"]).lower(), path)
    elif node.get("class") == "TYPE":
        if len(path) > 1:
            raise invalid_query(f"Type not found: {'.'.join(path)}")
    elif (path or kind in TARGETS) and not _is_table(path, names):
        raise invalid_query(f'Invalid table name: "{".".join(path)}"')
    if kind == "TABLE_FUNCTION":
        _check_table_function(node["function"])


def _check_function(name: str, path: list[str]) -> None:
    known = name in duckdb_functions.VALUES or duckdb_functions.is_operator(name)
    if not known or len(path) > 1:
        raise not_implemented(f"function {name}")


def _check_table_function(call: dict[str, Any]) -> None:
    if call.get("function_name") not in duckdb_functions.TABLES:
        raise invalid_query(f"Table-valued function not found: {call.get('function_name')}")


def _is_table(path: list[str], names: frozenset[str]) -> bool:
    """Return whether it is a dataset's table, one that we made, or a WITH.

    A dataset's schema has a dot in its name; catalog, main and DuckDB's own have none.
    """
    if len(path) == 1:
        return path[0].lower() in names
    if len(path) == 2:
        return "." in path[0]
    return path[:2] == ["temp", "main"] and bool(_OWN_TABLE.fullmatch(path[-1]))
