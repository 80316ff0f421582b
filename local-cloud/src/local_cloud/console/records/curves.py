"""Learning curves: what a job's log says of its epochs, read on as the log grows.

A line that names an epoch, with names and numbers behind it, is what nearly every training script
prints: `epoch 3  loss 0.52  validation loss 0.55`, `Epoch 3: loss=0.52`, `loss: 0.52 - acc: 0.8`.
"""

from __future__ import annotations

import math
import os
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from threading import Lock

from local_cloud.engine.logs.job_files import open_log
from local_cloud.store import holes

EPOCH = re.compile(r"\bepoch\b[\s:=#\[(]{0,12}(\d{1,9})", re.IGNORECASE)
PAIR = re.compile(
    r"([A-Za-z][A-Za-z_.:]{0,40}(?: [A-Za-z_]{1,20}){0,3}) ?[=:]? {0,4}"
    r"(-?\d{1,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,3})?)(?![\w.])"
)
LONGEST = 2000  # characters of a line that are looked at
BLOCK = 1 << 20
MOST_AT_ONCE = 1 << 30  # bytes that are read for one view; the next one reads on
MOST_A_BLOCK = 500  # lines that are looked at: a chart shows no more
MOST_SERIES = 12
MOST_POINTS = 20_000  # of a series: when there are more, every other one is dropped
KEPT = 64  # logs whose curves are remembered

Series = dict[str, list[tuple[float, float]]]


@dataclass
class _Known:
    """What has been read of a log."""

    inode: int = 0
    offset: int = 0
    series: Series = field(default_factory=dict)


class Curves:
    """The curves of logs; each log is read once, and then what has come since."""

    def __init__(self) -> None:
        """Keep the path; nothing is read yet."""
        self._known: OrderedDict[Path, _Known] = OrderedDict()
        self._lock = Lock()

    def of(self, log: Path) -> Series:
        """Return points (epoch, value) by the name of the metric, in their order."""
        with self._lock:
            known = self._known.pop(log, None) or _Known()
            try:
                with open_log(log) as file:
                    facts = os.fstat(file.fileno())
                    if known.inode != facts.st_ino or known.offset > facts.st_size:
                        known = _Known(facts.st_ino)
                    _read_on(file, known)
            except FileNotFoundError:  # or its job has put something else in its place
                return {}
            self._known[log] = known
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            return {name: list(points) for name, points in known.series.items()}


def _read_on(file: FileIO, known: _Known) -> None:
    """Read the whole lines that have come, as many as may be read at once; but no holes."""
    size, left = os.fstat(file.fileno()).st_size, MOST_AT_ONCE
    while left > 0:
        known.offset = holes.next_data(file.fileno(), known.offset, size)
        file.seek(known.offset)
        if not (block := file.read(BLOCK)):
            return
        left -= len(block)
        whole = block.rfind(b"\n") + 1
        if not whole:
            if len(block) < BLOCK:
                return
            whole = len(block)  # a line as long as a block is nobody's epoch
        known.offset += whole
        if b"poch" not in block and b"POCH" not in block:
            continue
        text = block[:whole].decode(errors="replace")
        said = [line for line in text.splitlines() if "poch" in line or "POCH" in line]
        step = max(1, len(said) // MOST_A_BLOCK)
        for line in reversed(said[::-1][::step]):  # the last is among them
            _add(line[:LONGEST], known.series)


def _add(line: str, series: Series) -> None:
    if not (match := EPOCH.search(line)):
        return
    epoch = float(match[1])
    for name, text in PAIR.findall(line, match.end()):
        value = float(text)
        name = name.strip(" :=.").lower()
        if not name or not math.isfinite(value):
            continue
        if name in series or len(series) < MOST_SERIES:
            points = series.setdefault(name, [])
            if not points or points[-1][0] != epoch:
                points.append((epoch, value))
            if len(points) > MOST_POINTS:
                del points[1::2]
