"""The names of a folder's objects, in the order of their UTF-8 bytes, read as far as needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from local_cloud.store import files, names


class _Entry(NamedTuple):
    key: str  # a file: the object's name; a folder: what all names in it begin with
    path: str  # relative to the root
    is_folder: bool


class Walk(Iterator[str]):
    """Iterates over the objects' names; memory holds the folders on the way, not the tree.

    Python compares strings by code points, which is the order of their UTF-8 bytes.
    """

    def __init__(self, root: Path, prefix: str = "", *, start: str = "", end: str = "") -> None:
        """Walk only names that begin with prefix, from start to, unless it is "", before end."""
        self._root, self._prefix, self._start, self._end = root, prefix, start, end
        self._last = ""
        self.path = ""  # of the last name's file, relative to the root
        self._stack = self._entries("", "")  # the next one last

    def __next__(self) -> str:
        """Return the next name."""
        while self._stack:
            entry = self._stack.pop()
            if entry.is_folder:
                self._stack += self._entries(entry.path + "/", entry.key)
            # The same name twice: "a" and what stood in for it beside a folder that is gone.
            elif names.leads_back(entry.key, entry.path) and entry.key != self._last:
                self._last, self.path = entry.key, entry.path
                return entry.key
        raise StopIteration

    def skip(self, prefix: str) -> None:
        """Leave out what remains of the names that begin with prefix; the last one did."""
        while self._stack and self._stack[-1].key.startswith(prefix):
            self._stack.pop()

    def _entries(self, path: str, key: str) -> list[_Entry]:
        entries = [entry for entry in self._read(path, key) if self._is_wanted(entry)]
        return sorted(entries, key=lambda entry: entry.key, reverse=True)

    def _is_wanted(self, entry: _Entry) -> bool:
        key, prefix, start = entry.key, self._prefix, self._start
        if self._end and key >= self._end:
            return False
        if not entry.is_folder:
            return key.startswith(prefix) and key >= start
        return (
            (key.startswith(prefix) or prefix.startswith(key))
            and (key >= start or start.startswith(key))
            and len(key) < names.NAME
        )

    def _read(self, path: str, key: str) -> Iterator[_Entry]:
        try:
            with os.scandir(self._root / path) as scan:
                entries = list(scan)
        except files.GONE:
            return
        for entry in entries:
            if not _is_text(entry.name):
                continue
            if entry.is_file(follow_symlinks=False):
                yield _Entry(key + names.from_file(entry.name), path + entry.name, False)
            elif entry.is_dir(follow_symlinks=False):
                inner = _Entry(key + names.from_folder(entry.name), path + entry.name, True)
                # Such names lie between those of other entries here, so they are read at once.
                if names.is_continued(entry.name):
                    yield from self._read(inner.path + "/", inner.key)
                else:
                    yield inner


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # how Python shows file names that are not UTF-8
        return False
    return True
