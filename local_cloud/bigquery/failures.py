"""DuckDB's errors in BigQuery's words."""

from __future__ import annotations

import re
from typing import Any

import duckdb

from local_cloud.bigquery.errors import Problem, invalid_query, not_implemented

_UNKNOWN_COLUMN = re.compile(r'(?:Referenced column|does not have a column named) "([^"]+)"')
_UNKNOWN_TABLE = re.compile(r'Referenced table "([^"]+)"')
_UNKNOWN_FUNCTION = re.compile(r"Function with name (\S+) does not exist")
_NO_OVERLOAD = re.compile(r"No function matches the given name and argument types '([^']+)'")
_UNGROUPED = re.compile(r'column "([^"]+)" must appear in the GROUP BY')
_NOT_NULL = re.compile(r"NOT NULL constraint failed: .*\.(\S+)")


def problem_of(error: Any) -> Problem:
    """What the service says where DuckDB says this."""
    text = str(error).split("\n")[0]
    if isinstance(error, duckdb.InterruptException):
        return Problem(499, "stopped", "Job execution was cancelled: User requested cancellation")
    if isinstance(error, duckdb.OutOfMemoryException):
        return Problem(
            400, "resourcesExceeded", "Resources exceeded during query execution: " + text
        )
    if isinstance(error, (duckdb.IOException, duckdb.FatalException)):
        return Problem(507, "quotaExceeded", f"the disk of the local cloud refuses ({text})")
    if isinstance(error, duckdb.NotImplementedException):
        return not_implemented(text.partition(": ")[2] or text)
    if "multiple overloads" in text:  # functions.py: the types of an aggregate are not known yet
        return not_implemented("this function of an aggregate: put the aggregate in a subquery")
    for pattern, words in (
        (_UNKNOWN_FUNCTION, "not implemented in the local cloud: function {}"),
        (_UNKNOWN_COLUMN, "Unrecognized name: {}"),
        (_UNKNOWN_TABLE, "Unrecognized name: {}"),
        (_NO_OVERLOAD, "No matching signature for {}"),
        (
            _UNGROUPED,
            "SELECT list expression references column {} which is neither grouped nor aggregated",
        ),
        (_NOT_NULL, "Required field {} cannot be null"),
    ):
        if found := pattern.search(text):
            said = words.format(found[1])
            if pattern is _UNKNOWN_FUNCTION:
                return Problem(501, "notImplemented", said)
            return invalid_query(said)
    return invalid_query(text.partition(": ")[2] or text)
