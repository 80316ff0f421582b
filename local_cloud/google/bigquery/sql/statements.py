"""The text of a query as one statement's tree; syntax errors in BigQuery's words."""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.sql import allowed
from local_cloud.google.bigquery.sql.grammar import Dialect

LONGEST = 1_000_000  # characters


def parse(text: str) -> Any:
    """Return the statement's tree, every node of which is allowed. Raises Problem."""
    if len(text) > LONGEST:
        raise invalid_query(f"The query is too large: more than {LONGEST} characters")
    try:
        found: list[Any] = [
            one for one in sqlglot.parse(text, read=Dialect) if _says_something(one)
        ]
        if not found:
            raise invalid_query("Syntax error: Unexpected end of statement")
        if len(found) > 1:
            words = ", ".join(dict.fromkeys(allowed.statement_name(one) for one in found))
            raise not_implemented(f"scripts of several statements ({words})")
        allowed.check(found[0])
        if any(not one.expressions for one in found[0].find_all(exp.Select)):
            raise invalid_query("Syntax error: SELECT list must not be empty")
    except RecursionError:
        raise invalid_query("The query is nested too deeply") from None
    except (ParseError, TokenError) as problem:
        raise invalid_query(_syntax(problem)) from None
    return found[0]


def _says_something(tree: Any) -> bool:
    return tree is not None and type(tree).__name__ != "Semicolon"


def _syntax(problem: Exception) -> str:
    for one in getattr(problem, "errors", []):
        what = str(one["description"]).rstrip(".")
        near = f' but got "{one["highlight"]}"' if one.get("highlight") else ""
        return f"Syntax error: {what}{near} at [{one['line']}:{one['col']}]"
    return f"Syntax error: {str(problem).splitlines()[0]}"
