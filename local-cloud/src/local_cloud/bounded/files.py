"""Read a file up to a limit. Raise OverLimit for a longer one."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TextIO

from local_cloud.bounded.errors import OverLimit, size

LONGEST_LINE = 4 << 20  # bytes or characters: as Python objects it may become thirty times as much
LONGEST_ROW = 2 << 20  # characters
LONGEST_READ = 16 << 20  # tarfile reads the header of a member as a whole


def read(path: Path, most: int) -> bytes:
    """Return what a file holds, `most` bytes at most."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OverLimit(f"larger than {size(most)}")
    return content


def tail(file: IO[bytes], most: int) -> bytes:
    """Return the end of an open file: `most` bytes at most."""
    file.seek(max(0, file.seek(0, io.SEEK_END) - most))
    return file.read(most)


def lines(file: IO[Any], longest: int = LONGEST_LINE) -> Iterator[Any]:
    """Yield the lines of an open file, of texts or bytes; each is so long at most."""
    while line := file.readline(longest + 1):
        if len(line) > longest:
            raise OverLimit(f"a line of it is larger than {size(longest)}")
        yield line


def rows(file: TextIO, longest: int = LONGEST_ROW, **dialect: Any) -> Iterator[list[str]]:
    """Yield the rows of a CSV file; each is so many characters long at most, over all its lines."""
    source = _Lines(file, longest)
    for row in csv.reader(source, **dialect):
        source.left = longest
        yield row


class _Lines:
    """The lines of a file, as long as a row has some characters left."""

    def __init__(self, file: TextIO, longest: int) -> None:
        self._file = file
        self._longest = self.left = longest

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._file.readline(self.left + 1)
        self.left -= len(line)
        if self.left < 0:
            raise OverLimit(f"a row of it is larger than {size(self._longest)}")
        if not line:
            raise StopIteration
        return line


class Pieces(io.RawIOBase):
    """A file that refuses to return very much at once, which a huge header would ask for."""

    def __init__(self, file: IO[bytes] | io.BufferedIOBase, at_once: int = LONGEST_READ) -> None:
        """at_once: bytes that one read may return."""
        self._file, self._at_once = file, at_once

    def read(self, count: int = -1) -> bytes:
        """Return the next bytes; without a count all that are left."""
        most = self._at_once
        content = self._file.read(most + 1 if count < 0 else count) if count <= most else b""
        if max(count, len(content)) > most:
            raise OverLimit(f"a header of it is larger than {size(most)}")
        return content

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Return True."""
        return True


class Unpacked(Pieces):
    """The unpacked content of a file, up to a limit: a seek unpacks all that it passes."""

    def __init__(
        self, file: IO[bytes] | io.BufferedIOBase, most: int, at_once: int = LONGEST_READ
    ) -> None:
        """most: bytes from the beginning."""
        super().__init__(file, at_once)
        self._most = most

    def read(self, count: int = -1) -> bytes:
        """Return the next bytes."""
        content = super().read(count)
        self._check(self.tell())
        return content

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, which tarfile counts from the beginning."""
        self._check(offset)
        return super().seek(offset, whence)

    def _check(self, place: int) -> None:
        if place > self._most:
            raise OverLimit(f"unpacked, it is larger than {size(self._most)}")
