"""Documents that must not be lost, by kind and name, in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from local_cloud.store.damage import damage_error, require_whole

Document = dict[str, Any]

# What is raised when the disk is full, read-only or broken.
NOT_WRITTEN = (OSError, sqlite3.OperationalError)

_PAGE = 500  # documents that are read at once,
_PAGE_BYTES = 1 << 22  # or as many as have so many characters: one may have megabytes


class Records:
    """JSON documents by kind and name. What a method has written when it returns is on the disk.

    Usable from several threads; one process at a time.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises DamagedStore."""
        path.parent.mkdir(parents=True, exist_ok=True)
        require_whole(path)
        self.path = path
        self._lock = threading.RLock()
        self._actions: list[Callable[[], None]] = []  # once the transaction is on the disk
        self._at_end = ExitStack()  # once it is on the disk or rolled back
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS record (kind TEXT, name TEXT, document TEXT NOT NULL,"
            " PRIMARY KEY (kind, name)) WITHOUT ROWID"
        )

    def put(self, kind: str, name: str, document: Document) -> None:
        """Write a document, in place of the one of this kind and name if there is one."""
        text = json.dumps(document)
        self._execute("INSERT OR REPLACE INTO record VALUES (?, ?, ?)", kind, name, text)

    def get(self, kind: str, name: str) -> Document | None:
        """Return the document, or None."""
        rows = self._execute("SELECT document FROM record WHERE kind = ? AND name = ?", kind, name)
        return _parse(rows[0][0]) if rows else None

    def delete(self, kind: str, name: str) -> None:
        """Remove a document if there is one."""
        self._execute("DELETE FROM record WHERE kind = ? AND name = ?", kind, name)

    def delete_below(self, kind: str, prefix: str) -> None:
        """Remove all documents of a kind whose names begin with this prefix."""
        last = prefix + chr(0x10FFFF)
        statement = "DELETE FROM record WHERE kind = ? AND name >= ? AND name < ?"
        self._execute(statement, kind, prefix, last)

    def clear(self, kind: str) -> None:
        """Remove all documents of a kind."""
        self._execute("DELETE FROM record WHERE kind = ?", kind)

    def list(self, kind: str, prefix: str = "") -> Iterator[tuple[str, Document]]:
        """Yield the names that have the prefix and their documents, by the UTF-8 bytes of the name.

        Read in pages: what is written meanwhile may or may not be among them.
        """
        after, comparison = prefix, ">="
        while True:
            rows = self._read_page(kind, after, comparison)
            for name, text in rows:
                if not name.startswith(prefix):
                    return
                yield name, _parse(text)
            if not rows:
                return
            after, comparison = rows[-1][0], ">"

    def names(self, kind: str, prefix: str = "") -> Sequence[str]:
        """Return the names that have the prefix, as list() orders them, without the documents."""
        last = prefix + chr(0x10FFFF)
        rows = self._execute(
            "SELECT name FROM record WHERE kind = ? AND name >= ? AND name < ? ORDER BY name",
            kind,
            prefix,
            last,
        )
        return [name for (name,) in rows]

    def _read_page(self, kind: str, after: str, comparison: str) -> Sequence[tuple[str, str]]:
        """Return the next documents; at least one, unless there is none."""
        statement = (
            f"SELECT name, document FROM record WHERE kind = ? AND name {comparison} ?"
            " ORDER BY name LIMIT ?"
        )
        rows, size = [], 0
        with self._lock, closing(self._database.execute(statement, (kind, after, _PAGE))) as page:
            for name, text in page:
                rows.append((name, text))
                size += len(text)
                if size >= _PAGE_BYTES:
                    break
        return rows

    @contextmanager
    def name_record_in_errors(self, kind: str, name: str) -> Iterator[None]:
        """Raise DamagedStore, with the record's name, if the block cannot make sense of it."""
        try:
            yield
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            why = f"the record of {kind} {name} cannot be understood: {problem!r}"
            raise damage_error(self.path, why) from problem

    def is_empty(self) -> bool:
        """Return whether there is not a single document."""
        return not self._execute("SELECT 1 FROM record LIMIT 1")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all of the block or, if it raises, nothing; other threads wait.

        One inside another is a part of it. Objects is not called inside one: it locks a bucket
        first and the records then, and would wait for a thread that does the same.
        """
        with self._lock:
            if self._database.in_transaction:
                yield
                return
            self._actions = []
            with ExitStack() as self._at_end, self._database:  # commits, or rolls back
                self._database.execute("BEGIN IMMEDIATE")
                yield
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    def when_written(self, action: Callable[[], None]) -> None:
        """Call the action when what this thread has written so far is on the disk.

        That is now or, inside a transaction, at its end; never if that is rolled back.
        """
        with self._lock:
            if self._database.in_transaction:
                self._actions.append(action)
                return
        action()

    def at_end(self, action: Callable[[], object]) -> None:
        """Call the action after this thread's transaction, also after one that is rolled back.

        Outside a transaction that is now.
        """
        with self._lock:
            if self._database.in_transaction:
                self._at_end.callback(action)
                return
        action()

    def close(self) -> None:
        """Close the file; no method may be called afterwards."""
        with self._lock:
            self._database.close()

    def _execute(self, statement: str, *values: str | int) -> Sequence[tuple[str, ...]]:
        with self._lock:
            return self._database.execute(statement, values).fetchall()


def _parse(text: str) -> Document:
    document: Document = json.loads(text)
    return document
