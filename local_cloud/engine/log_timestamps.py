"""When the lines of a log were written: marks of time and size in a file beside the log.

A replica writes its log itself, so that nothing is lost between it and the disk, and a plain file
knows no times. While the replica runs, its log's size is therefore looked at every half second.
What nobody is to read there is written over at the same time: scripts print their environment.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PERIOD = 0.5  # seconds: as precise as the times are
LONGEST = 1 << 20  # bytes of a line; what is longer counts as several lines
BLOCK = 1 << 16  # bytes read at once


@dataclass(frozen=True)
class Line:
    """A line of a log: when it was written (seconds since the epoch), and where it lies."""

    time: float
    start: int  # byte offsets in the log
    end: int
    text: str


def marks_path(log: Path) -> Path:
    """The file with the marks of a log."""
    return log.with_name(f"{log.name}.times")


def mark(log: Path, hidden: bytes = b"") -> int:
    """Note that all of the log that is there was written by now; returns how much that is.

    hidden: a text that nobody is to read in the log; what was written since the last mark is
    searched for it first.
    """
    try:
        size = log.stat().st_size
    except FileNotFoundError:
        return 0
    marks = marks_path(log)
    known = (_read(marks) or [(0.0, 0)])[-1][1]
    if size > known:
        if hidden:
            _hide(log, hidden, max(0, known - len(hidden)))
        # On a full disk the times of some lines are lost, and nothing else.
        with suppress(OSError), marks.open("a", encoding="ascii") as file:
            # Rounded down: nothing is written after the job's end.
            file.write(f"{math.floor(time.time() * 1000) / 1000:.3f} {size}\n")
    return size


def _hide(log: Path, text: bytes, start: int) -> None:
    """Write over the text, wherever it is from byte start on; a replica only ever appends."""
    instead = b"SECRET".ljust(len(text), b"*")[: len(text)]
    with suppress(OSError), log.open("r+b") as file:
        while len(block := os.pread(file.fileno(), BLOCK, start)) >= len(text):
            at = block.find(text)
            while at >= 0:
                os.pwrite(file.fileno(), instead, start + at)
                at = block.find(text, at + len(text))
            start += len(block) - len(text) + 1


async def follow(logs: Iterable[Path], hidden: bytes = b"") -> None:
    """Mark the logs every half second until cancelled; hidden: as in mark."""
    logs = tuple(logs)
    while True:
        await asyncio.sleep(PERIOD)
        for log in logs:
            mark(log, hidden)


def lines(log: Path, start: int = 0, *, ended: bool = True) -> Iterator[Line]:
    """The lines from byte `start`, which begins one; the last, if not ended, once it is whole.

    Memory holds a block of the log or one line, and the log is open only while that is read: logs
    can be large, and many are read side by side. A line counts as written when the log was first
    seen to hold it, and before it was, when the log was last written to. None for a log that is
    not there (yet).
    """
    if not log.exists():
        return
    marks = _read(marks_path(log))
    sizes = [size for _, size in marks]
    latest = log.stat().st_mtime
    while block := _block(log, start):
        for raw in block:
            if not raw.endswith(b"\n") and len(raw) < LONGEST and not ended:
                return
            end = start + len(raw)
            place = bisect_left(sizes, end)
            seen = marks[place][0] if place < len(marks) else latest
            yield Line(seen, start, end, raw.decode(errors="replace").rstrip("\r\n"))
            start = end


def _block(log: Path, start: int) -> list[bytes]:
    """The next lines of a log, as many as begin within a block; none at its end."""
    found, size = [], 0
    with log.open("rb") as file:
        file.seek(start)
        while size < BLOCK and (raw := file.readline(LONGEST)):
            found.append(raw)
            size += len(raw)
    return found


def line_start(log: Path, place: int) -> int:
    """Where the line begins that holds byte `place`."""
    start = place
    with log.open("rb") as file:
        while start > 0:
            end, start = start, max(0, start - BLOCK)
            file.seek(start)
            if (found := file.read(end - start).rfind(b"\n")) >= 0:
                start += found + 1
                break
    return start + (place - start) // LONGEST * LONGEST


def since(log: Path, moment: float) -> int:
    """Where a line begins; all lines before it were written before the moment."""
    before = 0
    for seen, size in _read(marks_path(log)):
        if seen >= moment:
            break
        before = size
    return line_start(log, before)


def span(log: Path) -> tuple[float, float] | None:
    """When the first and the latest line of a log were written; None while it is empty."""
    try:
        found = log.stat()
    except FileNotFoundError:
        return None
    if not found.st_size:
        return None
    marks = _read(marks_path(log))
    latest = marks[-1][0] if marks and marks[-1][1] >= found.st_size else found.st_mtime
    return (marks[0][0] if marks else latest), latest


def _read(marks: Path) -> list[tuple[float, int]]:
    """(time, size) of each mark; a last line cut off by a crash is left out."""
    try:
        text = marks.read_text(encoding="ascii")
    except FileNotFoundError:
        return []
    whole = (line.split() for line in text.splitlines(keepends=True) if line.endswith("\n"))
    return [(float(seen), int(size)) for seen, size in whole]
