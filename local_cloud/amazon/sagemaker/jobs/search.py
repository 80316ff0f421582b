"""What regular expressions find in logs: `python -I -S search.py`, standard library only.

A process of its own, for a regular expression can run for ever, and meanwhile none of a process's
other threads runs. Reads {"seconds", "longest", "every", "ended", "metrics": [regex],
"logs": [descriptor]} as JSON, with null for a log that cannot be read; writes
[[metric, log, start, value]]: of each metric in each log, by their places, the last line that has
it or, with `every`, each line. A last line that may still be written is left out then, unless the
job has `ended`. Is ended by SIGALRM after so many seconds.
"""

from __future__ import annotations

import json
import math
import re
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

MOST = 200_000  # values that are written: the last ones
Row = tuple[int, int, float]  # metric, start of the line, value


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
    start = 0
    with open(log, "rb") as file:
        while raw := file.readline(longest):
            if whole and not raw.endswith(b"\n"):
                return
            text = raw.decode(errors="replace").rstrip("\r\n")
            for metric, pattern in enumerate(patterns):
                if (number := value(pattern, text)) is not None:
                    yield metric, start, number
            start += len(raw)


def value(pattern: re.Pattern[str], text: str) -> float | None:
    """Return the last number that the first group catches in the line.

    Without a group, that is the last match.
    """
    found = None
    for match in pattern.finditer(text):
        try:
            found = float(match[1] if pattern.groups else match[0])
        except (TypeError, ValueError):  # a group that took no part, or no number
            continue
    return found if found is not None and math.isfinite(found) else None


def main() -> None:
    """Read the task, write what was found."""
    task = json.load(sys.stdin)
    signal.alarm(task["seconds"])
    patterns = [re.compile(regex) for regex in task["metrics"]]
    found: deque[tuple[int, int, int, float]] = deque(maxlen=MOST)
    for place, log in enumerate(task["logs"]):
        if log is None:
            continue
        if task["every"]:
            lines: Iterable[Row] = rows(patterns, log, task["longest"], whole=not task["ended"])
        else:
            lines = latest(patterns, log, task["longest"])
        found.extend((metric, place, start, number) for metric, start, number in lines)
    json.dump(list(found), sys.stdout)


if __name__ == "__main__":
    main()
