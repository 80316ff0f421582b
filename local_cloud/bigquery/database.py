"""One DuckDB file for all projects: a schema per dataset, and the catalog beside them.

DuckDB writes its log ahead and syncs it at each commit, so what was acknowledged survives a crash,
and data and catalog change in one transaction. It may open no other file, load no extension, and
its settings are locked: SQL from outside that got past the checks would find nothing of the host.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_cloud.bigquery.functions import macros
from local_cloud.store.space import Space

if TYPE_CHECKING:
    import duckdb

SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "memory_limit": "2GB",
    "threads": "2",
    "max_temp_directory_size": "10GB",
}
# BigQuery's defaults, as DuckDB has them; the last one locks all others.
SET = (
    "SET TimeZone = 'UTC'",
    "SET lock_configuration = true",
)
CATALOG = (
    "CREATE SCHEMA IF NOT EXISTS catalog",
    "CREATE TABLE IF NOT EXISTS catalog.dataset ("
    " project VARCHAR, dataset VARCHAR, document VARCHAR)",
    "CREATE TABLE IF NOT EXISTS catalog.item ("  # tables, views and models
    " project VARCHAR, dataset VARCHAR, name VARCHAR, document VARCHAR)",
)


def encoded(name: str) -> str:
    """A name of BigQuery's, in which case counts, as one of DuckDB's, in which it does not."""
    return re.sub(r"[A-Z^]", lambda found: "^" + found[0].lower(), name)


class Database:
    """The file, opened when it is first used: DuckDB is large. Usable from several threads."""

    def __init__(self, folder: Path, space: Space | None = None) -> None:
        """folder: where the file is, or will be made; space: how much may be written there."""
        self.folder, self._space = folder, space
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._opening = threading.Lock()
        self.writing = threading.RLock()  # one writer at a time: DuckDB refuses conflicts

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of one's own to the file."""
        cursor = self._open().cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    @contextlib.contextmanager
    def transaction(
        self, cursor: duckdb.DuckDBPyConnection | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """All writes of the block or, if it raises, none; what is committed is on the disk."""
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
            cursor.execute("COMMIT")

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The answer to one of our own statements."""
        with self.cursor() as cursor:
            return cursor.execute(statement, values).fetchall()

    def documents(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """The documents, one per row, that one of our own statements selects."""
        return [json.loads(row[0]) for row in self.rows(statement, *values)]

    def require_room(self) -> None:
        """Raise NoSpace if no more may be written."""
        if self._space:
            self._space.take()

    def close(self) -> None:
        """Close the file, which writes its log into it."""
        with self._opening:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> duckdb.DuckDBPyConnection:
        with self._opening:
            if self._connection is None:
                import duckdb

                self.folder.mkdir(parents=True, exist_ok=True)
                spill = {"temp_directory": str(self.folder / "spill")}
                path = self.folder / "bigquery.duckdb"
                connection = duckdb.connect(str(path), config={**SETTINGS, **spill})
                for statement in (*CATALOG, *macros(), *SET):
                    connection.execute(statement)
                self._connection = connection
            return self._connection
