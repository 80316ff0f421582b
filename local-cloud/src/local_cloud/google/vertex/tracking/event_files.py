"""Read TensorBoard's event files: a function for a process with limits, which loads TensorBoard.

It is given `{run: [path, …]}`, and returns for each series
`{"run", "tag", "points": [[step, seconds since the epoch, value], …]}`. A restarted run's files are
read as TensorBoard reads them: what the restart did again replaces what was there.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def series(paths: list[str]) -> Iterator[tuple[str, list[tuple[int, float, float]]]]:
    """(tag, points) of each scalar in the event files of one run."""
    from tensorboard.backend.event_processing.event_accumulator import (
        EventAccumulator,
    )
    from tensorboard.util import tensor_util

    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            Path(folder, Path(path).name).symlink_to(path)
        # 0 means all of them; what is not read here is not kept either.
        sizes = {"scalars": 0, "tensors": 0, "images": 1, "audio": 1, "histograms": 1}
        accumulator: Any = EventAccumulator(folder, sizes)
        accumulator.Reload()
        for tag in accumulator.Tags()["scalars"]:
            yield tag, [(one.step, one.wall_time, one.value) for one in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["tensors"]:  # as version 2 of TensorFlow writes its scalars
            if accumulator.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
                yield (
                    tag,
                    [
                        (one.step, one.wall_time, float(tensor_util.make_ndarray(one.tensor_proto)))
                        for one in accumulator.Tensors(tag)
                    ],
                )


def read(runs: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Return the series of the files of each run."""
    lists = []
    for run, paths in runs.items():
        for tag, points in series(paths):
            # JSON knows no NaN; a proto's JSON form has it as a text.
            told = [
                [step, wall, value if math.isfinite(value) else _name(value)]
                for step, wall, value in points
            ]
            lists.append({"run": run, "tag": tag, "points": told})
    return lists


def _name(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
