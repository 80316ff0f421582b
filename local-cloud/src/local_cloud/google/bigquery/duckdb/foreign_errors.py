"""Errors of DuckDB's, of the disk and of the buckets in BigQuery's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from local_cloud.google.bigquery.api.errors import (
    Problem,
    invalid,
    invalid_query,
    mistake,
    not_implemented,
)
from local_cloud.google.bigquery.duckdb.query_client import ProcessEnded
from local_cloud.google.definitions.values import WrongValue
from local_cloud.google.multipart import BadBody
from local_cloud.google.rest import BadJson, Invalid, NotAnObject
from local_cloud.http.bodies import TooLarge
from local_cloud.store.errors import NoSpace, NoSuchBucket, NoSuchObject, StoreError
from local_cloud.store.records import NOT_WRITTEN

_UNKNOWN_COLUMN = re.compile(r'(?:Referenced column|does not have a column named) "([^"]+)"')
_UNKNOWN_TABLE = re.compile(r'Referenced table "([^"]+)"')
_UNKNOWN_FUNCTION = re.compile(r"Function with name (\S+) does not exist")
_NO_OVERLOAD = re.compile(r"No function matches the given name and argument types '([^']+)'")
_UNGROUPED = re.compile(r'column "([^"]+)" must appear in the GROUP BY')
_NOT_NULL = re.compile(r"NOT NULL constraint failed: .*\.(\S+)")


# DuckDB's errors that say nothing about the statement.
_NOT_THE_STATEMENT = (
    duckdb.InterruptException,
    duckdb.OutOfMemoryException,
    duckdb.IOException,
    duckdb.FatalException,
)
# What DuckDB says where the disk takes nothing more, and where the file is not what it was.
_DISK = ("No space left", "Permission denied", "Read-only file system", "Disk quota exceeded")
_DAMAGED = ("Could not read enough bytes", "checksum", "Corrupt")


def explain(problem: Exception) -> Problem:
    """Return what the service says of anything that a request or a job may raise."""
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, NoSuchBucket | NoSuchObject):
        return Problem(404, "notFound", f"Not found: {problem}")
    if isinstance(problem, NoSpace):
        return Problem(507, "quotaExceeded", str(problem))
    if isinstance(problem, TooLarge):
        return Problem(413, "uploadTooLarge", str(problem))
    if isinstance(problem, NotAnObject):
        return Problem(400, "parseError", "Parse Error: an object is needed")
    if isinstance(problem, BadJson):
        return Problem(400, "parseError", f"Parse Error: {problem}")
    if isinstance(problem, StoreError | WrongValue | Invalid | BadBody):
        return invalid(str(problem))
    if isinstance(problem, ProcessEnded):  # clients send the request again
        return Problem(503, "backendError", f"{problem}: send the request again")
    if isinstance(problem, duckdb.Error) and (
        isinstance(problem, _NOT_THE_STATEMENT) or is_the_disks(str(problem))
    ):
        return problem_of(problem)
    if isinstance(problem, NOT_WRITTEN):
        return _disk(str(problem))
    return mistake(problem)


def is_the_disks(said: str) -> bool:
    """Return whether DuckDB's text says that the disk refuses."""
    return any(words in said for words in _DISK)


def _disk(said: str) -> Problem:
    what = f"the local cloud cannot write to its disk ({said}): free some space, then send it again"
    return Problem(507, "quotaExceeded", what)


def problem_of(error: Any) -> Problem:
    """Return what the service says where DuckDB says this of a statement."""
    text = str(error).split("\n")[0]
    if isinstance(error, duckdb.InterruptException):
        return Problem(499, "stopped", "Job execution was cancelled: User requested cancellation")
    if isinstance(error, duckdb.OutOfMemoryException):
        return Problem(
            400, "resourcesExceeded", "Resources exceeded during query execution: " + text
        )
    if is_the_disks(text):
        return _disk(text)
    if isinstance(error, duckdb.IOException) and any(words in text for words in _DAMAGED):
        return database_damage(text, partly=True)
    if isinstance(error, (duckdb.IOException, duckdb.FatalException)):
        return _disk(text)
    if isinstance(error, duckdb.NotImplementedException):
        return not_implemented(text.partition(": ")[2] or text)
    if "multiple overloads" in text:  # functions.sql: the types of an aggregate are not known yet
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
        if match := pattern.search(text):
            said = words.format(match[1])
            if pattern is _UNKNOWN_FUNCTION:
                return Problem(501, "notImplemented", said)
            return invalid_query(said)
    return invalid_query(text.partition(": ")[2] or text)


def database_damage(said: str, *, partly: bool = False) -> Problem:
    """Return the refusal that says that DuckDB's file is not what DuckDB has written.

    partly: DuckDB can still read other tables in it, so nobody is told to do without them.
    """
    advice = (
        "; if there is none, stop the local cloud and open the file in Python with"
        " `duckdb.connect(…, read_only=True)`, which can still read the other tables"
        if partly
        else ", or move it and its .wal file away to start without tables"
    )
    return Problem(
        500,
        "fault",
        f"{'Some of ' if partly else ''}BigQuery's tables cannot be read: their file is damaged"
        f" ({said}). It is left unchanged: put a whole copy in its place{advice}",
    )


def unreadable(problem: Exception, files: Sequence[Path] = ()) -> Problem:
    """Return what the service says of a file that does not hold what it should.

    files: those that were read, whose paths are nobody's business.
    """
    text = str(problem)
    for place, file in enumerate(files):
        text = text.replace(str(file), f"file {place + 1}")
    lines = [line for line in text.splitlines() if line.strip()]
    lines[0] = lines[0].partition(": ")[2] or lines[0]
    return Problem(
        400, "invalid", f"Error while reading data, error message: {' '.join(lines[:3])}"
    )
