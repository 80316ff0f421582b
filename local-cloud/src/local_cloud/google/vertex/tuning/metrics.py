"""What a trial reports of its metrics: lines of JSON that cloudml-hypertune has written."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_cloud.engine.logs import job_files

MOST = 16 << 20  # bytes of the file's end that are read
LONGEST = 1 << 16  # characters of a report
OTHERS = ("timestamp", "trial", "global_step", "checkpoint_path")  # fields that are no metric


@dataclass(frozen=True)
class Report:
    """One of a trial's reports."""

    step: int
    time: float  # seconds since the epoch
    metrics: Mapping[str, float]  # by tag; NaN for what is no number


def reports(file: Path, hidden: bytes = b"") -> list[Report]:
    """Return what the end of the file holds, in the order in which it was reported.

    file: in the job's folder. hidden: a text that nobody is to read in the names of metrics.
    """
    below = f"{file.parent.name}/{file.name}"
    text = job_files.read(file.parent.parent, below, most=MOST, hidden=hidden, end=True)
    reports = []
    for line in text.splitlines():
        if len(line) > LONGEST:
            continue
        try:
            report = json.loads(line)
            metrics = {name: _number(v) for name, v in report.items() if name not in OTHERS}
            step, seen = int(report.get("global_step", 0)), float(report.get("timestamp", 0))
            reports.append(Report(step, seen, metrics))
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            continue  # a line that is being written, or somebody else's
    return reports


def _number(value: Any) -> float:
    """Return a metric's value; NaN for what is no number, or none that a float can hold."""
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return math.nan
