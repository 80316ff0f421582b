"""The marks of a log: lines of a time and a size, in a file beside it, read where they are needed.

A mark says that all of the log up to its size was written by its time. Neither ever goes back, so
that a mark is found by bisection: a day of log has 4 MB of marks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from local_cloud.engine.logs.job_files import open_log, stat_log

Mark = tuple[float, int]  # seconds since the epoch, bytes of the log

LONGEST = 64  # bytes of a mark, at most
MARK = re.compile(rb"(\d{1,15}\.\d{3}) (\d{1,18})")  # the job's own process may write other lines
BLOCK = 4096  # bytes read at once


class Marks:
    """The marks of one log; a last one that a crash has cut off is left out."""

    def __init__(self, log: Path) -> None:
        """Keep the path; nothing is read yet."""
        self.path = log.with_name(f"{log.name}.times")

    def add(self, mark: Mark) -> bool:
        """Append a mark; return whether it is there.

        On a full disk the times of some lines are lost, and nothing else.
        """
        line = b"%.3f %d\n" % mark
        with suppress(OSError), open_log(self.path, "ab") as file:
            end = file.tell()
            begun = len(self._read(max(0, end - LONGEST), LONGEST).rpartition(b"\n")[2])
            file.truncate(end - begun)  # of one that a crash has cut off
            return file.write(line) == len(line)
        return False

    def first(self) -> Mark | None:
        """Return the first mark; None if there is none."""
        return next(self._from(0), None)

    def last(self) -> Mark | None:
        """Return the latest mark; None if there is none."""
        latest = [*self._from(self._next_line(max(0, self._size() - 3 * LONGEST)))]
        return latest[-1] if latest else None

    def from_size(self, size: int) -> Iterator[Mark]:
        """Return the first mark whose size is at least this, and those after it."""
        return self._from(self._find(lambda mark: mark[1] >= size))

    def before(self, moment: float) -> int:
        """Return the size of the last mark that is earlier than the moment; 0 if there is none."""
        place = self._find(lambda mark: mark[0] >= moment)
        earlier = 0
        for seen, size in self._from(self._next_line(max(0, place - 3 * LONGEST))):
            if seen >= moment:
                break
            earlier = size
        return earlier

    def _find(self, wanted: Callable[[Mark], bool]) -> int:
        """Return where the first mark begins that is wanted, as are all after it; else the end."""
        low, high = 0, self._size()
        while low < high:
            middle = (low + high) // 2
            place = self._next_line(middle)
            mark = next(self._from(place), None) if place < high else None
            if mark and not wanted(mark):
                low = place + 1
            else:
                high = middle
        return self._next_line(low)

    def _size(self) -> int:
        facts = stat_log(self.path)
        return facts.st_size if facts else 0

    def _next_line(self, place: int) -> int:
        """Return where the first line begins that begins at this byte or behind it."""
        if place == 0:
            return 0
        block = self._read(place - 1, LONGEST)
        newline = block.find(b"\n")
        return place + newline if newline >= 0 else place - 1 + len(block)

    def _from(self, place: int) -> Iterator[Mark]:
        """Yield the marks from this byte on, which begins one."""
        while lines := self._read(place, BLOCK).rpartition(b"\n")[0]:
            for line in lines.split(b"\n"):
                if match := MARK.fullmatch(line):
                    yield float(match[1]), int(match[2])
            place += len(lines) + 1

    def _read(self, place: int, most: int) -> bytes:
        try:
            with open_log(self.path) as file:
                return os.pread(file.fileno(), most, place)
        except FileNotFoundError:
            return b""
