"""What a trial reports of its metrics: lines of JSON that cloudml-hypertune has written."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST = 16 << 20  # bytes of the file's end that are read
LONGEST = 1 << 16  # bytes of a report
OTHERS = ("timestamp", "trial", "global_step", "checkpoint_path")  # fields that are no metric


@dataclass(frozen=True)
class Report:
    """One of a trial's reports."""

    step: int
    time: float  # seconds since the epoch
    metrics: Mapping[str, float]  # by tag; NaN for what is no number


def reports(file: Path) -> list[Report]:
    """Return what the end of the file holds, in the order in which it was reported."""
    # The trial's script may have written, or made, anything there.
    if not file.is_file():
        return []
    with file.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, os.SEEK_END) - MOST))
        lines = opened.read(MOST).splitlines()
    found = []
    for line in lines:
        if len(line) > LONGEST:
            continue
        try:
            report = json.loads(line.decode(errors="replace"))
            metrics = {name: _number(v) for name, v in report.items() if name not in OTHERS}
            step, seen = int(report.get("global_step", 0)), float(report.get("timestamp", 0))
            found.append(Report(step, seen, metrics))
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            continue  # a line that is being written, or somebody else's
    return found


def _number(value: Any) -> float:
    """Return a metric's value; NaN for what is no number, or none that a float can hold."""
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return math.nan
