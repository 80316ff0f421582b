"""The lines of a log, and when they were written: by its marks (log_marks.py).

A replica writes its log itself, so that nothing is lost between it and the disk, but a plain file
holds no times. So the server looks at the log every half second while the replica runs. At the
same time it overwrites the secret, because scripts print their environment. One thread does this
for all logs, a piece of one log at a time, so a log that grows by gigabytes delays neither the
server nor the other logs.

A log can be large, so nothing here reads more than a window of it, or of its marks; and sparse:
what a hole holds is neither read nor searched, and is no line.
"""

from __future__ import annotations

import asyncio
import io
import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from local_cloud.engine.logs import job_files
from local_cloud.engine.logs.job_files import open_log, stat_log
from local_cloud.engine.logs.log_marks import Marks
from local_cloud.store import holes

PERIOD = 0.5  # seconds: as precise as the times are
LONGEST = 1 << 20  # bytes of a line; what is longer counts as several lines (`_cut`)
BLOCK = 1 << 16  # bytes read at once
SEARCHED = 1 << 22  # bytes searched at once: each read waits for its turn among the threads
PIECE = 1 << 24  # bytes of a log that are searched before it is another log's turn
READER_PIECES = 64  # that a reader waits for, where a killed server has left a log unsearched
MOST_LINES = 1 << 10  # that are kept of a block: short ones take more memory than bytes
ALL = 1 << 62  # more bytes than any log has

_thread = ThreadPoolExecutor(1, thread_name_prefix="log-marks")


@dataclass(frozen=True)
class Line:
    """A line of a log: when it was written (seconds since the epoch), and its place in the log.

    A line that is longer than a block is read when its text is wanted: many logs are read side by
    side, and memory is to hold no long line of each.
    """

    time: float
    start: int  # byte offsets in the log
    end: int
    log: Path
    raw: bytes | None  # None: longer than a block

    @property
    def text(self) -> str:
        """Return what it says, without its end, and without the zeros of a hole beside it."""
        raw = _read(self.log, self.start, self.end) if self.raw is None else self.raw
        return raw.rstrip(b"\r\n").strip(b"\0").decode(errors="replace")


def _read(log: Path, start: int, end: int) -> bytes:
    with suppress(FileNotFoundError), open_log(log) as file:
        return os.pread(file.fileno(), end - start, start)
    return b""  # its job has been removed meanwhile, or has put something else in its place


def marks_path(log: Path) -> Path:
    """Return the file with the marks of a log."""
    return Marks(log).path


def mark(log: Path, hidden: bytes = b"", *, ended: bool = True, at: float | None = None) -> bool:
    """Note that the log, or its next PIECE, was written by now; return whether there is more of it.

    hidden: a text that nobody is to read in the log; it is written over first. Its beginning at
    the end of the log is left for the next time, unless ended. at: when the log was written, if
    that was not now.
    """
    with suppress(FileNotFoundError):  # its job has put something else in its place meanwhile
        return _mark(log, hidden, ended=ended, at=at)[1]
    return False


def _mark(log: Path, hidden: bytes, *, ended: bool, at: float | None) -> tuple[int, bool]:
    """Do what mark() does; return how much of the log has been searched, and whether to go on.

    Where no mark can be written (the disk is full), the next call would search the same again.
    """
    size = _size(log)
    marks = Marks(log)
    seen, known = marks.last() or (0.0, 0)
    end = piece = _piece_end(log, known, size)
    if hidden and end > known:
        _hide(log, hidden, start=max(0, known - len(hidden) + 1), end=end)
        if end < size or not ended:
            end -= _count_beginning(log, hidden, end)
    if end <= known:
        return end, size > piece
    # Rounded down: nothing is written after the job's end. A clock that is set back does not
    # change the order of lines.
    now = math.floor((at or time.time()) * 1000) / 1000
    return end, marks.add((max(seen, now), end)) and size > piece


def _piece_end(log: Path, start: int, size: int) -> int:
    """Return where the next PIECE ends, not counting holes; the size, where less is left."""
    if start >= size:
        return size
    left = PIECE
    with open_log(log) as file:
        for first, stop in holes.data(file.fileno(), start, size):
            if stop - first >= left:
                return first + left
            left -= stop - first
    return size


def _size(log: Path) -> int:
    """Return the bytes of a log.

    Return 0 if there is none, or if its job has put something else in its place.
    """
    facts = stat_log(log)
    return facts.st_size if facts else 0


def mark_readable(log: Path, hidden: bytes = b"", *, ended: bool) -> int:
    """Return how much of a log may be shown: what has a mark, and all once it has ended.

    What has been shown with a time keeps it, and nothing in it is still to be hidden. What has
    just been written is marked first, a piece at most. What a killed server has left unsearched is
    searched now, as much as a reader waits for. Waits: not for the event loop.
    """
    if ended and not (hidden and _is_left(log)):
        return ALL
    if ended:
        return _search_left(log, hidden)
    _thread.submit(mark, log, hidden, ended=False).result()
    latest = Marks(log).last()
    return latest[1] if latest else 0


def _is_left(log: Path) -> bool:
    """Return whether a log is longer than its marks say."""
    latest = Marks(log).last()
    return _size(log) > (latest[1] if latest else 0)


def _search_left(log: Path, hidden: bytes) -> int:
    """Search a log that has ended, as much as a reader waits for; return how much may be shown."""
    for _ in range(READER_PIECES):
        end, more = _thread.submit(_mark_left, log, hidden).result()
        if not more:
            break
    return end if _size(log) > end else ALL


def _mark_left(log: Path, hidden: bytes) -> tuple[int, bool]:
    """Do what _mark() does with a log that has ended, with the time of its last write."""
    with suppress(FileNotFoundError):  # its job or deployment has been removed
        if written := stat_log(log):
            return _mark(log, hidden, ended=True, at=written.st_mtime)
    return 0, False


def _hide(log: Path, text: bytes, *, start: int, end: int) -> None:
    """Write over the text, wherever it is between two bytes; a replica only ever appends.

    The log keeps the time of the replica's last write.
    """
    with suppress(OSError), open_log(log, "r+b") as file:
        before, changed = os.fstat(file.fileno()), False
        for first, stop in holes.data(file.fileno(), start, end):
            changed |= _hide_between(file.fileno(), text, start=first, end=stop)
        if changed:
            os.utime(file.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))


def _hide_between(descriptor: int, text: bytes, *, start: int, end: int) -> bool:
    """Write over the text between two bytes without a hole; return whether it was there."""
    instead, was_there = job_files.stars(len(text)), False
    while end - start >= len(text):
        block = os.pread(descriptor, min(SEARCHED, end - start), start)
        if len(block) < len(text):
            break
        at = block.find(text)
        while at >= 0:
            was_there = True
            os.pwrite(descriptor, instead, start + at)
            at = block.find(text, at + len(text))
        start += len(block) - len(text) + 1
    return was_there


def _count_beginning(log: Path, text: bytes, end: int) -> int:
    """Return how many bytes before byte `end` may be the beginning of the text."""
    with open_log(log) as file:
        tail = os.pread(file.fileno(), len(text) - 1, max(0, end - len(text) + 1))
    return next((n for n in range(len(tail), 0, -1) if text.startswith(tail[-n:])), 0)


async def follow(logs: Iterable[Path], hidden: bytes = b"") -> None:
    """Mark the logs every half second until cancelled; hidden: as in mark."""
    logs = tuple(logs)
    while True:
        await asyncio.sleep(PERIOD)
        for log in logs:
            await _mark_all(log, hidden, ended=False)


async def finish(logs: Iterable[Path], hidden: bytes = b"") -> None:
    """Mark all of the logs, to which nothing more is written."""
    for log in logs:
        await _mark_all(log, hidden, ended=True)


async def recover(logs: Iterable[Path], hidden: bytes = b"") -> None:
    """Mark all of the logs that a killed server has left, with the time of their last write.

    The caller waits for nothing: whoever reads one of them meanwhile has it searched first
    (`mark_readable`).
    """
    loop = asyncio.get_running_loop()
    for log in logs:
        with suppress(OSError):  # its job has put something else in its place
            while (await loop.run_in_executor(_thread, _mark_left, log, hidden))[1]:
                pass


async def _mark_all(log: Path, hidden: bytes, *, ended: bool) -> None:
    def piece() -> bool:
        return mark(log, hidden, ended=ended)

    while await asyncio.get_running_loop().run_in_executor(_thread, piece):
        pass


def lines(log: Path, start: int = 0, *, ended: bool = True) -> Iterator[Line]:
    """Yield the lines from byte `start`, which begins one; an unfinished last line only if ended.

    Memory holds a block of the log or one line, and the log is open only while that is read: logs
    can be large, and many are read side by side. A line counts as written when the server first
    saw it in the log; until then, when the log was last written to. A log that does not exist (yet)
    has no lines, nor has one whose job has put something else in its place.
    """
    if (written := stat_log(log)) is None:
        return
    latest = written.st_mtime
    marks = Marks(log).from_size(start + 1)
    seen, size = next(marks, (latest, ALL))
    while block := _block(log, start := _skip_hole(log, start), ended=ended):
        for raw in block:
            end = start + len(raw)
            while size < end:
                seen, size = next(marks, (latest, ALL))
            yield Line(seen, start, end, log, raw if len(raw) <= BLOCK else None)
            start = end


def times(log: Path, ends: Sequence[int]) -> Iterator[float]:
    """Yield when the lines were written that end at these bytes, which are in their order.

    Read from the marks alone, and counted as in lines(). None is yielded if the log is not there,
    or if its job has put something else in its place.
    """
    if not ends or (written := stat_log(log)) is None:
        return
    latest = written.st_mtime
    marks = Marks(log).from_size(ends[0])
    seen, size = next(marks, (latest, ALL))
    for end in ends:
        while size < end:
            seen, size = next(marks, (latest, ALL))
        yield seen


def lines_before(log: Path, end: int, *, ended: bool = True) -> Iterator[Line]:
    """Yield the lines before byte `end`, where a line begins or the log ends, the last first."""
    while (end := _skip_hole_back(log, end)) > 0:
        start = line_start(log, max(0, end - BLOCK))
        block = []
        for line in lines(log, start, ended=ended):
            if line.end > end:
                break
            block.append(line)
        yield from reversed(block)
        end = start


def _block(log: Path, start: int, *, ended: bool) -> list[bytes]:
    """Return the next lines of a log, as many as begin within a block; none at its end.

    One that is longer than a block comes first in its block, as does one that may be a hole.
    """
    lines: list[bytes] = []
    size, begin = 0, _line_begin(log, start)
    with io.BufferedReader(open_log(log)) as file:
        file.seek(start)
        while size < BLOCK and len(lines) < MOST_LINES:
            place = start + size
            most = _find_cut(begin, place) - place
            raw = file.readline(most)
            whole = raw.endswith(b"\n")
            if not raw or not (whole or len(raw) == most or ended):
                break
            if lines and (len(raw) > BLOCK or not raw.strip(b"\0")):
                break
            lines.append(raw)
            size += len(raw)
            if whole:
                begin = start + size
    return lines


def _skip_hole(log: Path, start: int) -> int:
    """Return where to read on from byte `start`: behind the lines that lie in a hole as a whole.

    That is the log's end if nothing else follows.
    """
    with open_log(log) as file:
        size = os.fstat(file.fileno()).st_size
        place = holes.next_data(file.fileno(), start, size)
    if place == start or place < min(size, _find_cut(_line_begin(log, start), start)):
        return start
    return place if place == size else line_start(log, place)


def _skip_hole_back(log: Path, end: int) -> int:
    """Return where to read back from byte `end`: before lines that lie in a hole as a whole."""
    if end <= 0:
        return 0
    with open_log(log) as file:
        place = holes.data_end(file.fileno(), end)
    if end - place <= LONGEST:
        return end
    return min(end, _find_cut(_line_begin(log, place), place)) if place else 0


def line_start(log: Path, place: int) -> int:
    """Return where the line begins that holds byte `place`."""
    begin = _line_begin(log, place)
    if begin is None:
        return place // LONGEST * LONGEST
    first = begin + LONGEST
    return begin if place < first else max(first, place // LONGEST * LONGEST)


def tail(log: Path, most: int) -> int:
    """Return where the line with the byte `most` before the end begins; 0 for a shorter log."""
    size = _size(log)
    return line_start(log, size - most) if size > most else 0


def _find_cut(begin: int | None, place: int) -> int:
    """Return where the line with byte `place`, or its part, ends if no newline ends it.

    A line that begins at `begin` (None: long before) is cut after LONGEST bytes, and then where
    the place in the log is a multiple of that: so a cut is found without reading far back.
    """
    if begin is not None and place < begin + LONGEST:
        return begin + LONGEST
    return (place // LONGEST + 1) * LONGEST


def _line_begin(log: Path, place: int) -> int | None:
    """Return where the whole line with byte `place` begins; None: over two LONGEST before."""
    start, least = place, max(0, place - 2 * LONGEST)
    with open_log(log) as file:
        while start > least:
            end, start = start, max(least, start - BLOCK)
            newline = os.pread(file.fileno(), end - start, start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
    return 0 if least == 0 else None


def since(log: Path, moment: float) -> int:
    """Return where a line begins; all lines before it were written before the moment."""
    return line_start(log, Marks(log).before(moment))


def span(log: Path) -> tuple[float, float] | None:
    """Return when the first and the latest line of a log were written; None while it is empty."""
    facts = stat_log(log)
    if not (facts and facts.st_size):
        return None
    marks = Marks(log)
    first, last = marks.first(), marks.last()
    latest = last[0] if last and last[1] >= facts.st_size else facts.st_mtime
    return (first[0] if first else latest), latest
