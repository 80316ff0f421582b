"""What the process of queries does for one cursor of the server's."""

from __future__ import annotations

import contextlib
import pickle
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from local_cloud.google.bigquery.api.errors import Problem

if TYPE_CHECKING:
    import duckdb

# What the server sends the process: what is wanted, and the number of a cursor.
CONTROL = struct.Struct("=cQ")
CURSOR, INTERRUPT, CLOSE = b"c", b"i", b"x"
CHUNK = 1 << 20  # bytes that are sent at once, if a row is not larger
MOST_ROWS = 2048  # of a chunk
LARGEST_ROW = 20 << 20  # bytes; BigQuery's answers have no more than that either
NESTED = ("list", "array", "struct", "map", "union", "decimal")


class Kind(NamedTuple):
    """A type of DuckDB's, as DuckDBPyType has it."""

    id: str
    text: str
    children: list[tuple[str, Any]]

    def __str__(self) -> str:
        """Return the identifier as SQL has it."""
        return self.text


Description = list[tuple[str, Kind]]


class Session:
    """A connection of DuckDB's, and the rows of its last statement."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, memory: int) -> None:
        """Use a connection of this session's own; memory: the bytes that DuckDB has."""
        self.connection, self.memory = connection, memory
        self.interrupted = False
        self._others: list[duckdb.DuckDBPyConnection] = []
        self._chunks: Iterator[bytes] = iter(())

    def execute(self, sql: str, values: Any) -> tuple[Description, bytes | None]:
        """Run a statement; its columns, and its first rows as fetch() has them."""
        self.connection.execute(sql, values)
        described = self.connection.description or []
        self._chunks = _chunks(self.connection)
        return [(one[0], _kind(one[1])) for one in described], self.fetch()

    def execute_many(self, sql: str, rows: list[Any]) -> None:
        """Run a statement with each of these rows of values."""
        self.connection.executemany(sql, rows)

    def fetch(self) -> bytes | None:
        """Return the next rows of the last statement, pickled; None if there are no more."""
        return next(self._chunks, None)

    @contextlib.contextmanager
    def with_other(self, other: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Interrupt this connection, too, if the session is interrupted meanwhile."""
        self._others.append(other)
        try:
            yield
        finally:
            self._others.remove(other)

    def interrupt(self) -> None:
        """Have what runs end soon; called from another thread."""
        self.interrupted = True
        for connection in (self.connection, *self._others):
            connection.interrupt()

    def check(self) -> None:
        """Raise if the session was interrupted: for what runs without DuckDB."""
        if self.interrupted:
            import duckdb

            raise duckdb.InterruptException("interrupted")


def _chunks(connection: duckdb.DuckDBPyConnection) -> Iterator[bytes]:
    """Yield rows, as many at once as one message should have."""
    count = 16
    while rows := connection.fetchmany(count):
        chunk = pickle.dumps(rows)
        if len(chunk) <= CHUNK:
            count = min(2 * count, MOST_ROWS)
            yield chunk
        else:
            count = max(1, count // 4)
            yield from map(_alone, rows)


def _alone(row: tuple[Any, ...]) -> bytes:
    chunk = pickle.dumps([row])
    if len(chunk) > LARGEST_ROW:
        what = f"Response too large to return: a row has more than {LARGEST_ROW >> 20} MB"
        raise Problem(403, "responseTooLarge", what)
    return chunk


def _kind(kind: Any) -> Kind:
    children = kind.children if kind.id in NESTED else []
    return Kind(
        kind.id,
        str(kind),
        [(name, _kind(one) if hasattr(one, "id") else one) for name, one in children],
    )
