"""The process in which DuckDB runs: python -m local_cloud.google.bigquery.duckdb.query_process.

Its arguments are the folder of the file, a number of bytes, and the descriptor of a socket whose
other end the server holds. Over that come cursors, each a socket of its own, and interrupts. The
process may be ended at any time: what DuckDB has committed is on the disk. It ends by itself when
the socket does, so also if the server is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import socket
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb

from local_cloud.bounded.limits import limit_memory
from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.duckdb.file import open_file
from local_cloud.google.bigquery.duckdb.query_session import (
    CLOSE,
    CONTROL,
    CURSOR,
    INTERRUPT,
    Session,
)

# After these DuckDB refuses whatever comes next, until the file is opened again.
FATAL = (duckdb.FatalException, duckdb.InternalException)


class Sessions:
    """A thread for each cursor."""

    def __init__(self, database: duckdb.DuckDBPyConnection, memory: int) -> None:
        """database: of which each session gets a connection; memory: the bytes that it has."""
        self._database, self._memory = database, memory
        self._sessions: dict[int, Session] = {}

    def run(self, control: socket.socket) -> None:
        """Do what the server wants, until it closes the socket or is gone."""
        while True:
            message, descriptors, _, _ = socket.recv_fds(control, CONTROL.size, 1)
            if len(message) < CONTROL.size:
                os._exit(0)
            wanted, number = CONTROL.unpack(message)
            if wanted == CURSOR:
                self._open(number, Connection(descriptors[0]))
            elif wanted == INTERRUPT:
                self._interrupt(number)
            elif wanted == CLOSE:
                with contextlib.suppress(duckdb.Error):  # its log is read at the next start
                    self._database.execute("CHECKPOINT")
                os._exit(0)

    def _open(self, number: int, channel: Connection) -> None:
        self._sessions[number] = session = Session(self._database.cursor(), self._memory)
        threading.Thread(target=self._serve, args=(number, session, channel), daemon=True).start()

    def _interrupt(self, number: int) -> None:
        if session := self._sessions.get(number):
            with contextlib.suppress(duckdb.Error):  # it is closed just now
                session.interrupt()

    def _serve(self, number: int, session: Session, channel: Connection) -> None:
        with channel, contextlib.suppress(EOFError, OSError):
            while True:
                answer, fatal = _answer(session, channel.recv_bytes())
                channel.send_bytes(answer)
                if fatal:
                    os._exit(1)
        self._sessions.pop(number, None)
        session.connection.close()


def _answer(session: Session, message: bytes) -> tuple[bytes, bool]:
    """Return what a function of the session returns or raises, and whether DuckDB still works."""
    session.interrupted = False
    try:
        function, arguments = pickle.loads(message)  # of the server, which started this process
        return pickle.dumps(("value", function(session, *arguments))), False
    except duckdb.Error as problem:
        return _error(type(problem).__name__, str(problem)), isinstance(problem, FATAL)
    except MemoryError:
        return _error("OutOfMemoryException", "Out of Memory Error: Allocation failure"), False
    except Problem as problem:
        error = (problem.code, problem.reason, str(problem), problem.location)
        return pickle.dumps(("problem", error)), False
    except OSError as problem:
        return pickle.dumps(("disk", str(problem))), False
    except Exception as problem:  # noqa: BLE001 - the server says it, as a mistake of ours
        return pickle.dumps(("fault", f"{type(problem).__name__}: {problem}")), False


def _error(name: str, text: str) -> bytes:
    return pickle.dumps(("error", (name, text)))


def main() -> None:
    """Open the file, say so in a line, and serve."""
    folder, memory, descriptor = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    limit_memory(memory)
    with contextlib.suppress(OSError):  # Linux: where memory runs out, this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    control = socket.socket(fileno=descriptor)
    said: dict[str, Any] = {}
    try:
        database = open_file(folder, memory // 2)
    except Problem as problem:
        said = {"code": problem.code, "reason": problem.reason, "message": str(problem)}
    with contextlib.suppress(BrokenPipeError):  # the server is gone: run() notices
        control.sendall(json.dumps(said).encode() + b"\n")
    if not said:
        Sessions(database, memory // 2).run(control)


if __name__ == "__main__":
    main()
