"""The learning curves of a job: every epoch of its history.csv, or what its log says of epochs.

Any script may write history.csv into its model folder (docs/history-and-metrics.md), as Keras's
CSVLogger does. On Vertex AI that folder is in a bucket. On SageMaker it is
a folder of the instance until the job ends, and then an archive in a bucket.
"""

from __future__ import annotations

import csv
import io
import math
import os
from contextlib import suppress
from functools import lru_cache
from io import FileIO
from pathlib import Path

from local_cloud.console.records import job_files, jobs
from local_cloud.console.records.curves import MOST_SERIES, Curves, Series
from local_cloud.engine.logs.job_files import mask, open_own
from local_cloud.platform import Platform
from local_cloud.store.files import open_file

HISTORY = "history.csv"
LARGEST = 8 << 20  # bytes of a history.csv that is read whole: about 100,000 epochs
LONGEST_ROW = 1 << 10  # bytes of a row of a larger one
MOST_EPOCHS = 1000  # that are kept of it: more than a chart shows
NOT_METRICS = ("epoch", "seconds")
INSTANCE_MODEL = "ml/model"  # /opt/ml/model, in the folder of an instance


class JobCurves:
    """The curves of jobs, of which logs are read on as they grow."""

    def __init__(self, platform: Platform) -> None:
        """platform: whose jobs these are."""
        self.platform = platform
        self._logs = Curves()

    def of(self, shown: jobs.Shown) -> Series:
        """Return points (epoch, value) by the name of the metric, in their order."""
        return self._of_results(shown) or self._of_instance(shown) or self._of_logs(shown)

    def _of_results(self, shown: jobs.Shown) -> Series:
        seen = jobs.result(self.platform, shown, HISTORY)
        # An earlier job may have written to the same folder.
        if seen is None or seen.updated < shown.job.created:
            return {}
        hidden = self.platform.engine.hidden
        return _of_object(
            seen.path, seen.name, size=seen.size, generation=seen.generation, hidden=hidden
        )

    def _of_instance(self, shown: jobs.Shown) -> Series:
        for name, log in self.platform.engine.logs(shown.job.id).items():
            # One replica writes for all.
            below = f"{log.parent.name}/{name}/{INSTANCE_MODEL}/{HISTORY}"
            with suppress(OSError), open_own(log.parent.parent, below) as file:
                if series := _read(file, self.platform.engine.hidden):
                    return series
        return {}

    def _of_logs(self, shown: jobs.Shown) -> Series:
        for log in self.platform.engine.logs(shown.job.id).values():
            if series := self._logs.of(log):  # one replica writes for all
                return series
        return {}


def of_file(path: Path, hidden: bytes = b"") -> Series:
    """Return the curves of an object that a job may write at this moment; {} if it is no file."""
    try:
        with open_file(path) as file:
            return _read(file, hidden)
    except OSError:
        return {}


def _read(file: FileIO, hidden: bytes) -> Series:
    size = os.fstat(file.fileno()).st_size
    text = file.read(LARGEST) if size <= LARGEST else _sample(file, size)
    return series_in(text.decode(errors="replace"), hidden)


def _sample(file: FileIO, size: int) -> bytes:
    """Return the first line of a large file, and whole rows from places at even distances."""
    head, _, _ = file.read(LONGEST_ROW).partition(b"\n")
    rows = []
    for place in range(MOST_EPOCHS):
        end = size - (size - len(head)) * (MOST_EPOCHS - 1 - place) // MOST_EPOCHS
        file.seek(max(0, end - 2 * LONGEST_ROW))
        whole, _, _ = file.read(min(end, 2 * LONGEST_ROW)).rpartition(b"\n")
        rows.append(whole.rpartition(b"\n")[2])
    return b"\n".join([head, *rows, b""])


@lru_cache(maxsize=64)  # a page that is open asks again every few seconds
def _of_object(path: Path, name: str, *, size: int, generation: int, hidden: bytes) -> Series:
    if not name.endswith(".gz"):
        return of_file(path, hidden)
    return series_in(job_files.text(path, name, wanted=HISTORY, size=size, most=LARGEST), hidden)


def series_in(history: str, hidden: bytes = b"") -> Series:
    """Return the curves in the text of a history.csv; {} for a table without a column "epoch".

    Without a row that is being written. hidden: a text that nobody is to read in a curve's name.
    """
    names, line_end, below = history.partition("\n")
    history = mask(names, hidden) + line_end + below  # before the names change into titles
    try:
        rows = list(csv.DictReader(io.StringIO(history[: history.rfind("\n") + 1])))
    except csv.Error:
        return {}
    step = -(-len(rows) // MOST_EPOCHS)
    series: Series = {}
    for row in rows[::-1][::step][::-1] if rows else []:  # the last is among them
        epoch = _number(row.get("epoch"))
        for name in list(row)[: MOST_SERIES + len(NOT_METRICS)]:
            value = None if name in NOT_METRICS else _number(row[name])
            if epoch is not None and value is not None:
                title = str(name).replace("val_", "validation ", 1).replace("_", " ")
                series.setdefault(title[:60], []).append((epoch, value))
    return series


def _number(text: object) -> float | None:
    """Return the number in a cell; None if there is no finite one."""
    try:
        number = float(text) if isinstance(text, str) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None
