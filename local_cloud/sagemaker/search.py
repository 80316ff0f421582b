"""What regular expressions find in logs: `python -I -S search.py`, standard library only.

A process of its own, for a regular expression can run for ever, and meanwhile none of a process's
other threads runs. Reads {"seconds", "longest", "metrics": [regex], "logs": [path]} as JSON;
writes [[metric, log, start, value]]: of each metric in each log, by their places, the last line
that has it. Is ended by SIGALRM after so many seconds.
"""

from __future__ import annotations

import json
import math
import re
import signal
import sys
from collections.abc import Sequence


def latest(
    patterns: Sequence[re.Pattern[str]], log: str, longest: int
) -> dict[int, tuple[int, float]]:
    """Of each pattern's last line: where it begins, and its value; longest: bytes of a line."""
    found: dict[int, tuple[int, float]] = {}
    start = 0
    with open(log, "rb") as file:
        while raw := file.readline(longest):
            text = raw.decode(errors="replace").rstrip("\r\n")
            for metric, pattern in enumerate(patterns):
                if (number := value(pattern, text)) is not None:
                    found[metric] = start, number
            start += len(raw)
    return found


def value(pattern: re.Pattern[str], text: str) -> float | None:
    """The last number that the first group catches in the line (without a group: all of it)."""
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
    rows = [
        (metric, place, *line)
        for place, log in enumerate(task["logs"])
        for metric, line in latest(patterns, log, task["longest"]).items()
    ]
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()
