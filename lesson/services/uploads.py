"""Which files go where in a bucket, and how far a large one is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from lesson import LessonError
from lesson.show.progress import note

QUIET = 2.0  # seconds after which an upload begins to say how far it is


def name_objects(files: Sequence[str | Path], prefix: str) -> list[tuple[Path, str]]:
    """Return each file with the object's name: its own, below `prefix`.

    Raises LessonError for what is no file, or is not there, and for two of the same name.
    """
    for file in files:
        if not isinstance(file, str | Path):
            raise LessonError(
                "upload takes the names of files, one after the other, as in "
                f"upload('a.npz', 'b.npz'); a {type(file).__name__} is none"
            )
    paths = [Path(file) for file in files]
    for path in paths:
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "is not there"
            raise LessonError(f"{path} {what}; name files that exist, seen from {Path.cwd()}")
    names = [f"{prefix.strip('/')}/{path.name}".lstrip("/") for path in paths]
    if len(set(names)) < len(names):
        raise LessonError(f"two files would both become {max(names, key=names.count)}; rename one")
    return list(zip(paths, names, strict=True))


class HowFar:
    """Says now and then how much of a file has been sent."""

    def __init__(self, path: Path) -> None:
        """Begin to count the seconds."""
        self._path, self._size, self._said = path, path.stat().st_size, time.monotonic()

    def at(self, sent: int) -> None:
        """Say how far the file is, now that so many bytes have been sent."""
        if time.monotonic() - self._said > QUIET:
            self._said = time.monotonic()
            note(f"uploading {self._path.name}: {sent / self._size:.0%}")

    def finish(self) -> None:
        """Say that all of it has been sent."""
        note(f"uploaded {self._path.name}")
