"""What a job's log says last: its epoch, its accuracy and its loss, from the end of the log."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from local_cloud.console.records.curves import EPOCH, LONGEST, PAIR
from local_cloud.engine.logs.job_files import open_log, stat_log
from local_cloud.platform import Platform

TAIL = 1 << 16  # bytes of a log that are looked at


@dataclass(frozen=True)
class Results:
    """The latest numbers of a job; None for what its log does not say."""

    epoch: int | None = None
    accuracy: float | None = None
    loss: float | None = None


def of_job(platform: Platform, job_id: str) -> Results:
    """Return the results in the log of the first replica that says any."""
    for log in platform.engine.logs(job_id).values():
        if (facts := stat_log(log)) is None:
            continue
        results = _read(log, facts.st_ino, (facts.st_size, facts.st_mtime_ns))
        if results != Results():
            return results
    return Results()


@lru_cache(maxsize=4096)  # a log that has not changed says the same
def _read(log: Path, inode: int, changed: tuple[int, int]) -> Results:
    try:
        with open_log(log) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            text = file.read(TAIL).decode(errors="replace")
    except OSError:  # deleted, or its job has put something else in its place
        return Results()
    return parse(text)


def parse(text: str) -> Results:
    """Return the last epoch, accuracy and loss of a log; those of validation before others.

    A line counts if it names an epoch, or begins with a name and a number: `epoch 3  loss 0.52`,
    `validation:accuracy = 0.84`.
    """
    latest = _Latest()
    for line in text.splitlines():
        line = line[:LONGEST]
        if epoch := EPOCH.search(line):
            latest.epoch = int(epoch[1])
            pairs = PAIR.findall(line, epoch.end())
        else:
            pairs = PAIR.findall(line) if PAIR.match(line) else []
        for name, number in pairs:
            latest.add(name.lower(), float(number))
    return Results(latest.epoch, latest.choose("acc"), latest.choose("loss"))


@dataclass
class _Latest:
    """The latest value of each metric, by its kind and whether it is of the validation set."""

    epoch: int | None = None
    values: dict[tuple[str, bool], float] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        for kind in ("acc", "loss"):
            if kind in name and math.isfinite(value):
                self.values[kind, "val" in name] = value

    def choose(self, kind: str) -> float | None:
        return self.values.get((kind, True), self.values.get((kind, False)))
