"""The database of all projects, whose file is open in a process of its own.

What a query takes, it takes there: the memory of that process is limited, and it may be killed.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local_cloud.google.bigquery.duckdb import query_client
from local_cloud.google.bigquery.duckdb.query_client import Cursor, ProcessEnded, QueryProcess
from local_cloud.store.space import Space

AGAIN = (0.0, 0.2, 1.0)  # seconds before a statement of our own that only reads is tried again


def encode(name: str) -> str:
    """Return a name of BigQuery's, in which case counts, as one of DuckDB's, where it does not."""
    return re.sub(r"[A-Z^]", lambda match: "^" + match[0].lower(), name)


def decode(name: str) -> str:
    """Return what encode() has made a name of DuckDB's from."""
    return re.sub(r"\^(.)", lambda match: match[1].upper(), name)


class Database:
    """The process, started when it is first used, and again when it has ended.

    Usable from several threads.
    """

    def __init__(self, folder: Path, space: Space | None = None, memory: int = 0) -> None:
        """folder: where the file is, or will be made; space: how much may be written there.

        memory: the bytes that the process may take; 0: as many as the machine allows.
        """
        self.folder, self._space = folder, space
        self._memory = memory or query_client.memory()
        self._process: QueryProcess | None = None
        self._opening = threading.Lock()
        self.writing = threading.RLock()  # one writer at a time: DuckDB refuses conflicts

    @contextlib.contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """Yield a connection of one's own to the file."""
        cursor = self._open_process().cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    @contextlib.contextmanager
    def transaction(self, cursor: Cursor | None = None) -> Iterator[Cursor]:
        """Write all of the block or, if it raises, nothing; what is committed is on the disk."""
        with contextlib.ExitStack() as stack:
            cursor = cursor or stack.enter_context(self.cursor())
            stack.enter_context(self.writing)
            cursor.execute("BEGIN TRANSACTION")
            try:
                yield cursor
            except BaseException:
                with contextlib.suppress(Exception):
                    cursor.execute("ROLLBACK")
                raise
            try:
                cursor.execute("COMMIT")
            except ProcessEnded as problem:
                raise ProcessEnded(str(problem), committing=True) from None
            cursor.committed = True

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the answer to one of our own statements, which only reads.

        It is tried again if somebody's query has ended the process, or has taken all memory.
        """
        import duckdb

        for pause in AGAIN:
            try:
                return self._rows(statement, values)
            except (ProcessEnded, duckdb.OutOfMemoryException):
                time.sleep(pause)
        return self._rows(statement, values)

    def _rows(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        process = self._open_process()
        try:
            cursor = process.idle.pop()
        except IndexError:
            cursor = process.cursor()
        rows = cursor.execute(statement, values).fetchall()
        process.idle.append(cursor)  # as good as new: it has no transaction and no table
        return rows

    def documents(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Return the documents, one per row, that one of our own statements selects."""
        return [json.loads(row[0]) for row in self.rows(statement, *values)]

    def require_room(self) -> None:
        """Raise NoSpace if no more may be written."""
        if self._space:
            self._space.take()

    def close(self) -> None:
        """Close the file, which writes its log into it."""
        with self._opening:
            if self._process is not None:
                self._process.close()
                self._process = None

    def _open_process(self) -> QueryProcess:
        with self._opening:
            if self._process is None or not self._process.runs:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._process = QueryProcess(self.folder, self._memory)
            return self._process
