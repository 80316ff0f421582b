"""BigQuery's tree as DuckDB's SQL."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import duckdb
from sqlglot import ErrorLevel, exp
from sqlglot.errors import UnsupportedError

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.api.types import MOST_COLUMNS
from local_cloud.google.bigquery.catalog.catalog import Document
from local_cloud.google.bigquery.duckdb import generated_sql
from local_cloud.google.bigquery.sql.rewrites import Columns, rewritten

STATEMENTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE_INTO", "MERGE")
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def to_duckdb(
    tree: Any, reads: Iterable[Document] = (), check: Callable[[], None] = lambda: None
) -> str:
    """Return the SQL; reads: the tables. Raises Problem for what DuckDB cannot do.

    check: raises if the query was cancelled; a large one takes seconds to translate.
    """
    columns = _columns(reads)
    tree = tree.copy()
    try:
        for node in reversed(list(tree.walk())):  # what is inside first
            check()
            new = rewritten(node, columns)
            if new is not node:
                node.replace(new)
        text = _write(tree)
        check()
        _one_statement(text)
        check()
        checked = _as_query(tree) if isinstance(tree, exp.Merge) else text
        generated_sql.check(checked, tree.key.upper())
    except UnsupportedError as problem:
        raise not_implemented(str(problem)) from None
    except RecursionError:
        raise invalid_query("The query is nested too deeply") from None
    return text


def _write(node: Any) -> str:
    """Return DuckDB's SQL, with every name in quotes: whatever is in one, it stays a name."""
    text: str = node.sql("duckdb", identify=True, unsupported_level=ErrorLevel.IGNORE)
    return text


def _as_query(merge: Any) -> str:
    """Return the tables and expressions of a MERGE as a query, which DuckDB's parser can show."""
    parts = [merge.args.get("on")]
    for when in merge.args["whens"].expressions:
        then = when.args.get("then")
        parts += [when.args.get("condition"), then and then.args.get("expression")]
        parts += then.expressions if then else []
    columns = [f"({_write(one)})" for one in parts if one]
    tables = [_write(merge.args[key]) for key in ("this", "using")]
    return f"SELECT {', '.join(columns)} FROM {', '.join(tables)}"


def _one_statement(text: str) -> None:
    """Raise Problem unless DuckDB's own parser finds one statement, and one that works on rows.

    Whatever a name or a constant holds: nothing of it has become SQL.
    """
    try:
        statements = duckdb.extract_statements(text)
    except (duckdb.ParserException, duckdb.NotImplementedException) as problem:
        said = str(problem).splitlines()[0].partition(" Error: ")[2]
        raise not_implemented(f"this query as DuckDB's SQL ({said})") from None
    if [one.type.name for one in statements] not in ([kind] for kind in STATEMENTS):
        raise invalid_query("Syntax error: the query is more than one statement")


def _columns(reads: Iterable[Document]) -> Columns:
    kinds_of: dict[str, set[str]] = {}
    for document in reads:
        for one in document["schema"]["fields"]:
            kinds_of.setdefault(one["name"].lower(), set()).add(one["type"])
    return {name: kinds.pop() for name, kinds in kinds_of.items() if len(kinds) == 1}


def name_columns(tree: Any) -> None:
    """Give columns without a name BigQuery's: f0_, f1_, …; refuse two of the same name."""
    _require_columns(tree)
    for query in list(tree.find_all(exp.Select)):
        if query.args.get("kind"):  # SELECT AS STRUCT, AS VALUE
            continue
        unnamed = 0
        for one in list(query.expressions):
            if not _name(one) and not _is_star(one):
                one.replace(exp.alias_(one.copy(), f"f{unnamed}_"))
                unnamed += 1
    columns = _columns_of_result(tree)
    names = Counter(_name(one).lower() for one in columns if not _is_star(one))
    if twice := sorted(name for name, count in names.items() if count > 1):
        raise invalid_query(
            "Duplicate column names in the result are not supported. Found duplicate(s): "
            + ", ".join(twice)
        )


def _columns_of_result(tree: Any) -> list[Any]:
    while isinstance(tree, (exp.SetOperation, exp.Subquery)):
        tree = tree.this
    return list(tree.expressions) if isinstance(tree, exp.Select) else []


def _require_columns(tree: Any) -> None:
    """Refuse more columns than BigQuery has: DuckDB's time for a plan grows with them."""
    count = len(_columns_of_result(tree))
    if count > MOST_COLUMNS:
        raise invalid_query(f"The result has {count} columns; the maximum is {MOST_COLUMNS}")


def _name(column: Any) -> str:
    if isinstance(column, exp.Alias):
        return str(column.alias)
    if isinstance(column, (exp.Column, exp.Dot)):
        return str(column.name)
    return ""


def _is_star(column: Any) -> bool:
    return isinstance(column, exp.Star) or bool(getattr(column, "is_star", False))
