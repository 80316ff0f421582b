"""A run is one training of one model somewhere; the run table lays runs side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lesson import LessonError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Run:
    """One row of the run table.

    `seconds` is the time from asking for the run to its end; `artefacts` the folder or address
    where model.pt, metrics.json, history.csv and training.log lie side by side.
    """

    place: str
    machine: str
    seconds: float
    accuracy: float
    loss: float
    artefacts: str

    @property
    def metrics(self) -> dict[str, Any]:
        """The whole of metrics.json."""
        return read_metrics(Path(self.artefacts))


def read_metrics(folder: Path) -> dict[str, Any]:
    """Read metrics.json of a run; raises LessonError if it is not there or not whole."""
    path = folder / "metrics.json"
    try:
        metrics: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise LessonError(f"{path}: {problem}; did the run end without an error?") from None
    return metrics


def run_table(runs: Sequence[Run]) -> pd.DataFrame:
    """The runs as a table, one row each, rounded for reading."""
    import pandas as pd

    columns = ["place", "machine", "seconds", "accuracy", "loss", "artefacts"]
    rows = [[getattr(run, name) for name in columns] for run in runs]
    table = pd.DataFrame(rows, columns=columns)
    return table.round({"seconds": 1, "accuracy": 4, "loss": 4})
