"""A run is one training of one model somewhere; `lesson.show.run_table` lays runs side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lesson import LessonError


@dataclass(frozen=True)
class Run:
    """One row of the run table; None is what is not known, or not known yet.

    Times are in seconds: `seconds` from asking for the run to its end; of these `queued` until the
    machines started, `training` in the loop over the epochs, and `starting` the machines' other
    time (images, imports, data, results). `cost` is in US dollars, at list price. `artefacts` is
    the folder or URI where model.pt, metrics.json, history.csv and training.log lie side by
    side, or of the archive that holds them; where it is a URI, `folder` is the copy of them
    on this machine.
    """

    place: str
    machine: str
    seconds: float | None
    score: float | None
    loss: float | None
    artefacts: str
    replicas: int = 1
    queued: float | None = None
    starting: float | None = None
    training: float | None = None
    cost: float | None = None
    score_name: str = "accuracy"  # SCORE of the script
    code: str = ""  # the name of the script's folder, if this process has sent it
    digest: str = ""  # of the script, once there are results: lesson.jobs.code
    interruptions: int = 0  # by stops of spot machines, as far as they were seen
    copy: Path | None = field(default=None, repr=False)
    job: Any = field(default=None, repr=False, compare=False)  # the SDK's own object
    request: Mapping[str, Any] = field(
        default_factory=dict, repr=False
    )  # what was sent: lesson.jobs.request

    @property
    def folder(self) -> Path:
        """Return the artefacts on this machine; raises LessonError if they are only elsewhere."""
        if self.copy is None and "://" in self.artefacts:
            raise LessonError(
                f"the results of this run are at {self.artefacts}, if it has ended; "
                "wait(run) fetches them and returns the run with them"
            )
        return self.copy or Path(self.artefacts)

    @property
    def accuracy(self) -> float | None:
        """Return the score of a run that is scored by its accuracy; raises LessonError for others.

        `score` has the number of any run.
        """
        if self.score_name != "accuracy":
            raise LessonError(f"this run is scored by its {self.score_name}: take run.score")
        return self.score

    @property
    def metrics(self) -> dict[str, Any]:
        """Return the whole of metrics.json."""
        return read_metrics(self.folder)


def is_better_small(metric: str) -> bool:
    """Tell by its name whether less of a metric is better: of a loss or an error.

    >>> is_better_small("mean_absolute_error"), is_better_small("accuracy")
    (True, False)
    """
    return "loss" in metric or "error" in metric


def read_metrics(folder: Path) -> dict[str, Any]:
    """Read metrics.json of a run; raises LessonError if it is not there or not whole."""
    path = folder / "metrics.json"
    try:
        metrics: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise LessonError(f"{path}: {problem}; did the run end without an error?") from None
    return metrics
