"""How much the local cloud may write: a limit of its own, and some of the disk that stays free."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from local_cloud.errors import LocalCloudError
from local_cloud.store import interruption
from local_cloud.store.errors import NoSpace

VARIABLE = "LOCAL_CLOUD_MAX_GB"
DEFAULT_GB = 20.0
GB = 10**9
RESERVE = GB  # bytes of the disk that stay free
AGAIN = 5.0  # seconds before what is on the disk is measured again
LONGEST = 300.0  # seconds after which it is, since jobs write, too


def limit(environment: Mapping[str, str]) -> int:
    """Return the bytes that the user allows; LocalCloudError for what is no number."""
    text = environment.get(VARIABLE) or str(DEFAULT_GB)
    try:
        most = float(text)
    except ValueError:
        most = 0.0
    if not 0 < most < float("inf"):
        raise LocalCloudError(f"{VARIABLE} is {text!r}: give a number of gigabytes, such as 20")
    return int(most * GB)


def size(folder: Path) -> int:
    """Return the bytes that the files below a folder take on the disk.

    What cannot be read counts 0.
    """
    total, folders = 0, [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    interruption.check()
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                        else:
                            total += entry.stat(follow_symlinks=False).st_blocks * 512
                    except FileNotFoundError:
                        continue
        except OSError:  # it vanished, is closed, or its path is too long
            continue
    return total


class Space:
    """The room of a folder. Usable from several threads."""

    def __init__(self, folder: Path, most: int) -> None:
        """most: bytes that may be below the folder."""
        self.folder, self.most = folder, most
        self._lock = threading.Lock()
        self._used = 0  # when it was last measured
        self._since = 0  # bytes written since then
        self._measured = -LONGEST

    def free(self) -> int:
        """Return the bytes of the disk that may still be written.

        They are negative if there is less than the reserve.
        """
        return shutil.disk_usage(self.folder).free - RESERVE

    def take(self, more: int = 0) -> None:
        """Count bytes that are about to be written; NoSpace if that would be too much."""
        with self._lock:
            if self.free() < more:
                raise NoSpace(
                    f"less than {RESERVE / GB:g} GB of the disk would be left, and the local cloud"
                    " leaves that free: delete something, then try again"
                )
            self._since += more
            now = time.monotonic()
            full, age = self._used + self._since > self.most, now - self._measured
            if age >= LONGEST or (full and age >= AGAIN):
                self._used, self._since = size(self.folder) + more, 0
                self._measured = now
                full = self._used > self.most
            if full:
                self._since -= min(more, self._since)
                raise NoSpace(
                    f"the local cloud holds {self.most / GB:g} GB, which is all that {VARIABLE}"
                    " allows: delete buckets or jobs, or start it with a larger number"
                )

    def room(self) -> int:
        """Return the bytes that may still be written, as far as is known."""
        self.take()
        return max(0, min(self.most - self._used - self._since, self.free()))

    def open(self, path: Path, mode: str = "wb") -> Counted:
        """Open a file to write, whose bytes are counted: its write() raises NoSpace."""
        return Counted(path, mode, self)


class Counted(FileIO):
    """A file whose bytes are counted before they are written."""

    def __init__(self, path: Path, mode: str, space: Space) -> None:
        """Open without a buffer: what has been written is on its way to the disk."""
        super().__init__(path, mode)
        self._space = space

    def write(self, data: Any) -> int:
        """Write all of it, or raise."""
        interruption.check()
        view = memoryview(data)
        self._space.take(view.nbytes)
        done = 0
        while done < view.nbytes:
            done += super().write(view[done:]) or 0
        return done
