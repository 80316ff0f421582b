"""Walk, measure and remove folders that somebody else has filled, whatever is in them.

Nothing here recurses, because folders may be nested more deeply than Python can call functions.
No link is followed. Each step checks whether the work must stop (interruption.py).
`python -m local_cloud.store.trees FOLDER` removes one.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from local_cloud.store import interruption
from local_cloud.store.errors import StoreError

MOST_ENTRIES = 200_000  # in one folder that is walked: their names are held in memory


class BadTree(StoreError):
    """A folder cannot be used; the message says why."""


@dataclass(frozen=True)
class Entry:
    """Something in a folder: where it is, its path below the folder, and what it is."""

    path: str
    below: str
    facts: os.stat_result  # of a link: its own

    @property
    def is_file(self) -> bool:
        """Return whether it is a regular file."""
        return stat.S_ISREG(self.facts.st_mode)

    @property
    def is_folder(self) -> bool:
        """Return whether it is a folder."""
        return stat.S_ISDIR(self.facts.st_mode)

    @property
    def is_link(self) -> bool:
        """Return whether it is a symbolic link."""
        return stat.S_ISLNK(self.facts.st_mode)


def walk(root: Path) -> Iterator[Entry]:
    """Yield everything below a folder: by name, and a folder before what is in it.

    What vanishes meanwhile is left out. BadTree: a folder cannot be read (its path may be longer
    than the system allows), or there are more than MOST_ENTRIES.
    """
    count = 0
    waiting = _entries(str(root), "")  # the next one last
    while waiting:
        interruption.check()
        entry = waiting.pop()
        count += 1
        if count > MOST_ENTRIES:
            raise _too_many(str(root))
        yield entry
        if entry.is_folder:
            waiting += _entries(entry.path, f"{entry.below}/")


def _entries(folder: str, below: str) -> list[Entry]:
    """Return what is in a folder, the first by name last."""
    listed: list[Entry] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                interruption.check()
                if len(listed) == MOST_ENTRIES:
                    raise _too_many(folder)
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    listed.append(Entry(entry.path, below + entry.name, status))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        raise BadTree(
            f"the folder {shorten(folder)} cannot be read: {problem.strerror}"
        ) from problem
    return sorted(listed, key=lambda entry: entry.below, reverse=True)


def _too_many(folder: str) -> BadTree:
    return BadTree(
        f"the folder {shorten(folder)} holds more than {MOST_ENTRIES:,} files and folders: put them"
        " into an archive"
    )


def shorten(path: str) -> str:
    """Return a path for a message: shortened in the middle, and valid UTF-8."""
    text = os.fsencode(path).decode(errors="backslashreplace")
    return text if len(text) <= 200 else f"{text[:100]}…{text[-99:]}"


def remove(root: Path) -> None:
    """Remove a folder with all that is in it, or a file; nothing happens if it is not there.

    Folders that are inside others are moved up before they are emptied, so that no path gets too
    long. What cannot be removed stays. Raises Interrupted.
    """
    if root.is_symlink() or not root.is_dir():
        with suppress(OSError):
            root.unlink()
        return
    with suppress(OSError):
        with _open_folder(str(root)) as top:
            folders = _empty(top, top)
            while folders:
                name = folders.pop()
                with suppress(OSError):
                    with _open_folder(name, top) as folder:
                        folders += _empty(folder, top)
                    os.rmdir(name, dir_fd=top)
        os.rmdir(root)


@contextmanager
def _open_folder(name: str, above: int | None = None) -> Iterator[int]:
    """Open a folder, which a job may have closed; OSError for a link in its place.

    A process of the job may still be there, and put links in the place of folders at any moment:
    so whatever is done in a folder is done by its descriptor, not by its path.
    """
    _unlock(name, above)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        yield folder
    finally:
        os.close(folder)


def _unlock(name: str, above: int | None) -> None:
    """Give the owner all rights to a folder, but not to what a link in its place leads to."""
    if sys.platform != "linux":
        os.chmod(name, stat.S_IRWXU, dir_fd=above, follow_symlinks=False)
        return
    # Old C libraries cannot change the mode without following a link.
    descriptor = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        os.chmod(f"/proc/self/fd/{descriptor}", stat.S_IRWXU)
    finally:
        os.close(descriptor)


def _empty(folder: int, top: int) -> list[str]:
    """Remove the files of a folder; the names of its folders, which are now in the top one."""
    inner = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            interruption.check()
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    inner.append(
                        entry.name if folder == top else _move_to_top(entry.name, folder, top)
                    )
                else:
                    os.unlink(entry.name, dir_fd=folder)
    return inner


def _move_to_top(name: str, folder: int, top: int) -> str:
    """Return the name of a folder after moving it into the top one."""
    _unlock(name, folder)  # its own entry ".." changes
    above = f".removed-{secrets.token_hex(8)}"
    os.rename(name, above, src_dir_fd=folder, dst_dir_fd=top)
    return above


def remove_empty(root: Path) -> None:
    """Remove the folders below this one, and itself, that hold nothing but such folders."""
    folders, waiting = [], [str(root)]
    while waiting:
        folder = waiting.pop()
        folders.append(folder)
        with suppress(OSError), os.scandir(folder) as entries:
            waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    for folder in reversed(folders):
        with suppress(OSError):
            os.rmdir(folder)


if __name__ == "__main__":
    remove(Path(sys.argv[1]))
