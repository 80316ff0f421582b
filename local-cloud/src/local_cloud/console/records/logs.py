"""A replica's log a piece at a time: its end first, what comes then, and what was before."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from local_cloud.console.site import words
from local_cloud.engine.logs import job_files, log_timestamps
from local_cloud.json_types import Json

PIECE = 1 << 16  # bytes
REPLACED = (
    "local cloud: this log cannot be shown, because the job has put something else in the place of"
    " its file {}."
)


def tail(log: Path) -> int:
    """Return where the last piece of a log begins; 0 for one that is not there yet."""
    return log_timestamps.tail(log, PIECE)


def read_piece(log: Path, query: Mapping[str, str], *, ended: bool, hidden: bytes = b"") -> Json:
    """Return the piece that a page asks for.

    That is `from` a byte on, or what ends at the byte `before`.
    """
    if end := words.whole(query.get("before", "")):
        return piece(log, _before(log, end), until=end, ended=ended, hidden=hidden)
    return piece(log, words.whole(query.get("from", "")), ended=ended, hidden=hidden)


def piece(
    log: Path, start: int, *, ended: bool, hidden: bytes = b"", until: int | None = None
) -> Json:
    """Return the lines from byte `start`, which begins one, to `until`, or else about a piece.

    `next` is where to go on; `more` says that there is more already. What nobody is to read is
    written over before it is shown.
    """
    if job_files.is_replaced(log):
        said = [] if start else [{"time": "", "text": REPLACED.format(log.name)}]
        return {"lines": said, "start": 0, "next": 1, "more": False}
    marked = log_timestamps.mark_readable(log, hidden, ended=ended)
    lines, end = [], start
    for line in log_timestamps.lines(log, start, ended=ended):
        if line.end > min(marked, until or marked) or (until is None and end - start >= PIECE):
            break
        end = line.end
        clock = time.strftime("%H:%M:%S", time.localtime(line.time))
        lines.append({"time": clock, "text": job_files.mask(line.text, hidden)})
    written = job_files.stat_log(log)
    more = bool(written and end < written.st_size and lines)
    return {"lines": lines, "start": start, "next": end, "more": more}


def _before(log: Path, end: int) -> int:
    """Return where the piece begins that ends at byte `end`, which begins a line."""
    if end <= PIECE or not job_files.stat_log(log):
        return 0
    return log_timestamps.line_start(log, end - PIECE)
