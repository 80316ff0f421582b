"""The text of a query as one statement's tree; syntax errors in BigQuery's words."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.sql import allow_list
from local_cloud.google.bigquery.sql.grammar import Dialect

LONGEST = 1_000_000  # characters
# Words, signs and constants of a query with all its views: the time for its tree grows with them,
# to a minute for LONGEST, and while Python looks for garbage in a large tree everybody waits.
MOST_TOKENS = 50_000
# About what the tokenizer finds, a hundred times faster.
TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*+(?:'|\Z)|"(?:[^"\\]|\\.)*+(?:"|\Z)|\w+|[^\w\s]""", re.DOTALL
)


def count_tokens(text: str) -> int:
    """Return about how many words, signs and constants a query has."""
    return sum(1 for _ in TOKEN.finditer(text))


def require_few(tokens: int) -> None:
    """Refuse a query that is too large."""
    if tokens > MOST_TOKENS:
        raise invalid_query(
            f"The query is too large: with its views it has {tokens} words, signs and constants,"
            f" and at most {MOST_TOKENS} are possible here: load the data into a table"
        )


def parse(text: str) -> Any:
    """Return the statement's tree, every node of which is allowed. Raises Problem."""
    if len(text) > LONGEST:
        raise invalid_query(f"The query is too large: more than {LONGEST} characters")
    require_few(count_tokens(text))
    try:
        dialect = Dialect()
        tokens = dialect.tokenize(text)
        require_few(len(tokens))
        statements: list[Any] = [
            one for one in dialect.parser().parse(tokens, text) if _says_something(one)
        ]
        if not statements:
            raise invalid_query("Syntax error: Unexpected end of statement")
        if len(statements) > 1:
            words = ", ".join(dict.fromkeys(allow_list.statement_name(one) for one in statements))
            raise not_implemented(f"scripts of several statements ({words})")
        allow_list.check(statements[0])
        if any(not one.expressions for one in statements[0].find_all(exp.Select)):
            raise invalid_query("Syntax error: SELECT list must not be empty")
    except RecursionError:
        raise invalid_query("The query is nested too deeply") from None
    except (ParseError, TokenError) as problem:
        raise invalid_query(_syntax(problem)) from None
    return statements[0]


def _says_something(tree: Any) -> bool:
    return tree is not None and type(tree).__name__ != "Semicolon"


def _syntax(problem: Exception) -> str:
    for one in getattr(problem, "errors", []):
        what = str(one["description"]).rstrip(".")
        near = f' but got "{one["highlight"]}"' if one.get("highlight") else ""
        return f"Syntax error: {what}{near} at [{one['line']}:{one['col']}]"
    return f"Syntax error: {str(problem).splitlines()[0]}"
