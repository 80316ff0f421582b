"""The server's side of the process in which DuckDB runs: start it, and use cursors in it."""

from __future__ import annotations

import collections
import contextlib
import io
import itertools
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import local_cloud
from local_cloud.errors import LocalCloudError
from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.duckdb.query_session import (
    CLOSE,
    CONTROL,
    CURSOR,
    INTERRUPT,
    Description,
    Session,
)

MOST = 4 << 30  # bytes of memory, or half of the machine's
KEPT = ("PATH", "HOME", "TMPDIR", "LANG")  # variables of the server that the process gets
START = 600.0  # seconds, after which it will not come: a long log is read first
END = 30.0  # seconds to write the log into the file
# DuckDB's and Arrow's allocators keep nothing for later: what they keep counts against the limit.
ALLOCATORS = {"DUCKDB_JE_MALLOC_CONF": "retain:false", "ARROW_DEFAULT_MEMORY_POOL": "system"}
# What rows and columns' types consist of: nothing else that comes from the process is made here.
VALUES = {
    ("datetime", "date"),
    ("datetime", "datetime"),
    ("datetime", "time"),
    ("datetime", "timedelta"),
    ("datetime", "timezone"),
    ("decimal", "Decimal"),
    ("uuid", "UUID"),
    ("pytz", "_UTC"),
    ("pytz", "_p"),
    ("local_cloud.google.bigquery.duckdb.query_session", "Kind"),
}


class ProcessEnded(LocalCloudError):
    """The process ended while something ran in it; nothing that was not committed is kept."""

    def __init__(self, what: str, *, committing: bool = False) -> None:
        """Keep committing: something was committed before, or nobody knows whether it was."""
        super().__init__(what)
        self.committing = committing


class QueryProcess:
    """The process. Usable from several threads."""

    def __init__(self, folder: Path, memory: int) -> None:
        """Start it, and have it open the folder's file. Raises Problem if it cannot."""
        self._control, theirs = socket.socketpair()
        self._sending = threading.Lock()
        self._numbers = itertools.count()
        self.idle: collections.deque[Cursor] = collections.deque()  # to be used again
        descriptor = theirs.fileno()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "local_cloud.google.bigquery.duckdb.query_process",
                    str(folder),
                    str(memory),
                    str(descriptor),
                ],
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,
            )
        try:
            self._wait_until_open()
        except BaseException:
            self.kill()
            raise

    def _wait_until_open(self) -> None:
        self._control.settimeout(START)
        with self._control.makefile("rb", buffering=0) as answers:
            line = answers.readline()
        self._control.settimeout(None)
        if not line:
            raise self.end()
        if problem := json.loads(line):
            raise Problem(problem["code"], problem["reason"], problem["message"])

    @property
    def runs(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    def cursor(self) -> Cursor:
        """Return a new connection to the file. Raises ProcessEnded."""
        ours, theirs = socket.socketpair()
        number = next(self._numbers)
        with theirs:
            try:
                with self._sending:
                    message = CONTROL.pack(CURSOR, number)
                    socket.send_fds(self._control, [message], [theirs.fileno()])
            except OSError:
                ours.close()
                raise self.end() from None
        return Cursor(self, number, Connection(ours.detach()))

    def interrupt(self, number: int) -> None:
        """Interrupt what a cursor runs, if anything."""
        with self._sending, contextlib.suppress(OSError):
            self._control.sendall(CONTROL.pack(INTERRUPT, number))

    def end(self) -> ProcessEnded:
        """End it if it has not; the error for what was to run in it."""
        self.kill()
        code = self._process.returncode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return ProcessEnded(f"the process in which queries run has ended ({how})")

    def kill(self) -> None:
        """End it, whatever it does: what is committed is on the disk."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may be ending by itself
            self._process.wait(0.2 if self._process.poll() is None else 0)
        self._process.kill()
        self._process.wait()
        self._control.close()

    def close(self) -> None:
        """Have it write its log into the file, and end."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._control.sendall(CONTROL.pack(CLOSE, 0))
            self._process.wait(END)
        self.kill()


class Cursor:
    """A connection of DuckDB's, in the process. One thread uses it; any may interrupt it."""

    def __init__(self, process: QueryProcess, number: int, channel: Connection) -> None:
        """Keep number: how the process knows it; channel: to its thread there."""
        self.process = process
        self._number, self._channel = number, channel
        self._rows: list[tuple[Any, ...]] = []
        self._more = False
        self.busy = False  # whether it runs something just now
        self.committed = False  # whether a transaction of it was: what ran is not to run again
        self.description: Description = []

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns that the process calls with its Session and these.

        Raises what it raised: an error of DuckDB's, Problem, OSError. Raises ProcessEnded.
        """
        self.busy = True
        try:
            self._channel.send_bytes(pickle.dumps((function, arguments)))
            kind, value = _Values(io.BytesIO(self._channel.recv_bytes())).load()
        except (EOFError, OSError):
            ended = self.process.end()
            raise ProcessEnded(str(ended), committing=self.committed) from None
        finally:
            self.busy = False
        if kind == "value":
            return value
        if kind == "problem":
            raise Problem(*value)
        if kind == "error":
            raise _error(*value)
        raise OSError(value) if kind == "disk" else RuntimeError(value)

    def execute(self, sql: str, values: Any = None) -> Cursor:
        """Run a statement, whose rows can be fetched then."""
        self.description, chunk = self.run(Session.execute, sql, values)
        self._rows = []
        self._add(chunk)
        return self

    def executemany(self, sql: str, rows: list[Any]) -> None:
        """Run a statement with each of these rows of values."""
        self.run(Session.execute_many, sql, rows)

    def fetchmany(self, most: int) -> list[tuple[Any, ...]]:
        """Return the next rows, as many as this or fewer; [] if there are no more."""
        if not self._rows and self._more:
            self._add(self.run(Session.fetch))
        rows, self._rows = self._rows[:most], self._rows[most:]
        return rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None if there is no more."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows that are left."""
        everything: list[tuple[Any, ...]] = []
        while rows := self.fetchmany(sys.maxsize):
            everything += rows
        return everything

    def interrupt(self) -> None:
        """Have what it runs end soon, if it runs anything."""
        self.process.interrupt(self._number)

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def _add(self, chunk: bytes | None) -> None:
        self._more = chunk is not None
        if chunk is not None:
            self._rows += _Values(io.BytesIO(chunk)).load()


class _Values(pickle.Unpickler):
    """Makes values, and nothing that would run code."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class of those that rows consist of."""
        if (module, name) not in VALUES:
            raise pickle.UnpicklingError(f"{module}.{name} is not a value")
        return super().find_class(module, name)


def _error(name: str, text: str) -> Exception:
    """Return DuckDB's error, as if it had been raised here.

    Nothing else of the module's is called.
    """
    import duckdb

    kind = getattr(duckdb, name, None)
    if not (isinstance(kind, type) and issubclass(kind, duckdb.Error)):
        kind = duckdb.Error
    return kind(text)


def memory() -> int:
    """Return the bytes of memory that the process may allocate."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(MOST, machine // 2)


def _environment() -> dict[str, str]:
    variables = {name: os.environ[name] for name in KEPT if name in os.environ}
    return variables | ALLOCATORS | {"PYTHONPATH": str(Path(local_cloud.__file__).parents[1])}
