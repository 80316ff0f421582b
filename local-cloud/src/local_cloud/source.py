"""The package's files as the server found them when it began: have they changed since?

A process keeps the code that it has imported. After an update (`git pull`, a newly installed wheel)
the server would go on with the old one, and nobody would know why a new call is not implemented.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

Look = dict[str, tuple[int, int]]  # of each file: its bytes, and its last change in nanoseconds


class Source:
    """The files of a folder at one moment; only a server asks, for it knows what it has loaded."""

    def __init__(self, folder: Path, began: float) -> None:
        """began: when this process began to import them, in seconds since 1970.

        It may have imported a file that was changed between then and now before or after that: it
        cannot know, so the file counts as changed.
        """
        now = time.time_ns()
        self._folder = folder
        self._at_start = {
            name: facts
            for name, facts in _look(folder).items()
            if not began * 1e9 <= facts[1] <= now
        }

    def has_changed(self) -> bool:
        """Return whether a file was changed, added or removed; it takes some milliseconds."""
        return _look(self._folder) != self._at_start


def _look(folder: Path) -> Look:
    """Return the files in a folder; those that Python compiles and editors hide are left out."""
    files: Look = {}
    waiting = [os.fspath(folder)]
    while waiting:
        with contextlib.suppress(FileNotFoundError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name == "__pycache__":
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                    continue
                with contextlib.suppress(FileNotFoundError):  # an update removes it now
                    facts = entry.stat()
                    files[entry.path] = facts.st_size, facts.st_mtime_ns
    return files
