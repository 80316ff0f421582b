"""What regular expressions find in logs: `python -I -S search.py`, standard library only.

A process of its own, for a regular expression can run for ever, and meanwhile none of a process's
other threads runs. Reads {"seconds", "longest", "every", "ended", "metrics": [regex],
"logs": [descriptor]} as JSON, with null for a log that cannot be read; writes
[[metric, log, end, value]]: of each metric in each log, by their places, the last line that has it
or, with `every`, each line; end: the byte behind the line. A last line that may still be written is
left out then, unless the job has `ended`. Is ended by SIGALRM after so many seconds.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

MOST = 200_000  # values that are written: the last ones
Row = tuple[int, int, float]  # metric, end of the line, value


def latest(patterns: Sequence[re.Pattern[str]], log: int, longest: int) -> list[Row]:
    """Return of each pattern the last line that has it."""
    return list({row[0]: row for row in rows(patterns, log, longest, whole=False)}.values())


def rows(
    patterns: Sequence[re.Pattern[str]], log: int, longest: int, *, whole: bool
) -> Iterator[Row]:
    """Yield what each line has of each metric.

    log: a descriptor of it; longest: bytes of a line; whole: a last line that may still be written
    is left out.
    """
    end = 0
    with open(log, "rb") as file:
        while raw := file.readline(longest):
            if whole and len(raw) < longest and not raw.endswith(b"\n"):
                return
            end += len(raw)
            if len(raw) == longest and not raw.strip(b"\0"):
                end = skip_hole(file, end)
                continue
            text = raw.decode(errors="replace").rstrip("\r\n")
            for metric, pattern in enumerate(patterns):
                if (number := value(pattern, text)) is not None:
                    yield metric, end, number


def skip_hole(file: BinaryIO, place: int) -> int:
    """Go to the first byte from this place on that is in no hole of the file; return where."""
    try:
        place = os.lseek(file.fileno(), place, os.SEEK_DATA)
    except OSError as problem:
        if problem.errno == errno.ENXIO:  # the rest is a hole
            place = os.fstat(file.fileno()).st_size
    return file.seek(place)


def value(pattern: re.Pattern[str], text: str) -> float | None:
    """Return the last number that the first group catches in the line.

    Without a group, that is the last match.
    """
    last = None
    for match in pattern.finditer(text):
        try:
            last = float(match[1] if pattern.groups else match[0])
        except (TypeError, ValueError):  # a group that took no part, or no number
            continue
    return last if last is not None and math.isfinite(last) else None


def main() -> None:
    """Read the task, write what was found."""
    task = json.load(sys.stdin)
    signal.alarm(task["seconds"])
    patterns = [re.compile(regex) for regex in task["metrics"]]
    matches: deque[tuple[int, int, int, float]] = deque(maxlen=MOST)
    for place, log in enumerate(task["logs"]):
        if log is None:
            continue
        if task["every"]:
            lines: Iterable[Row] = rows(patterns, log, task["longest"], whole=not task["ended"])
        else:
            lines = latest(patterns, log, task["longest"])
        matches.extend((metric, place, end, number) for metric, end, number in lines)
    json.dump(list(matches), sys.stdout)


if __name__ == "__main__":
    main()
