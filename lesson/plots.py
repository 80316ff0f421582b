"""Pictures of runs, readable without colour: lines differ in dash as well as in hue."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lesson.costs import dollars
from lesson.runs import Run

if TYPE_CHECKING:
    import pandas as pd

# Both colours have a contrast of more than 4.5:1 on white.
TRAINING = {"color": "#0b5394", "linestyle": "-", "label": "training"}
VALIDATION = {"color": "#a61c00", "linestyle": "--", "label": "validation"}


@dataclass(frozen=True)
class Picture:
    """A picture in a file, with a text for readers who cannot see it; notebooks show both."""

    path: Path
    alt: str

    def _repr_html_(self) -> str:
        content = base64.b64encode(self.path.read_bytes()).decode()
        alt = html.escape(self.alt)
        return f'<img alt="{alt}" style="max-width: 100%" src="data:image/png;base64,{content}">'


def learning_curve(run: Run) -> Picture:
    """Draw loss and accuracy over the epochs of a run into learning_curve.png in its folder.

    A dotted line marks the epoch with the lowest validation loss.
    """
    import pandas as pd
    from matplotlib.figure import Figure

    history = pd.read_csv(run.folder / "history.csv").set_index("epoch")
    best = run.metrics["epochs"]["best"]
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    losses, accuracies = figure.subplots(1, 2)
    losses.plot(history["loss"], **TRAINING)
    losses.plot(history["val_loss"], **VALIDATION)
    accuracies.plot(history["val_accuracy"], **VALIDATION)
    for axes, title in ((losses, "loss"), (accuracies, "accuracy")):
        axes.axvline(best, color="#444444", linestyle=":", label="best epoch")
        axes.set(xlabel="epoch", title=title)
        axes.legend(framealpha=1)
    picture = Picture(run.folder / "learning_curve.png", _describe(history, best))
    figure.savefig(picture.path, dpi=150)
    return picture


def _describe(history: pd.DataFrame, best: int) -> str:
    """The learning curve in words."""
    first, at_best, last = history.iloc[0], history.loc[best], history.iloc[-1]
    return (
        f"Learning curve over {len(history)} epochs: the training loss falls from "
        f"{first['loss']:.2f} to {last['loss']:.2f}; the validation loss is lowest in epoch {best} "
        f"with {at_best['val_loss']:.2f} and ends at {last['val_loss']:.2f}; the validation "
        f"accuracy is {at_best['val_accuracy']:.2f} in that epoch."
    )


# What a job's seconds are spent on: light to dark, and each with a hatch of its own.
STAGES: dict[str, dict[str, Any]] = {
    "queued": {"color": "#ffffff", "hatch": "...."},
    "starting": {"color": "#9fc5e8", "hatch": "////"},
    "training": {"color": "#0b5394", "hatch": ""},
}


def comparison(runs: Sequence[Run], path: Path) -> Picture:
    """Draw one bar for each run, of the seconds that it was queued, starting and training.

    What is not known counts as no time at all. The picture is written to `path`, as PNG.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.2 + 0.45 * len(runs)), layout="constrained")
    axes = figure.subplots()
    places, left = range(len(runs)), [0.0] * len(runs)
    for stage, look in STAGES.items():
        seconds = [getattr(run, stage) or 0.0 for run in runs]
        axes.barh(places, seconds, left=left, edgecolor="#000000", label=stage, **look)
        left = [begin + length for begin, length in zip(left, seconds, strict=True)]
    for place, run, end in zip(places, runs, left, strict=True):
        axes.annotate(f" {_ending(run, end)}", (end, place), va="center")
    axes.set_yticks(places, [name_of(run) for run in runs])
    axes.set_xlim(0, 1.45 * max(left) or 1)  # room for the words behind the bars
    axes.invert_yaxis()  # the first run on top, as in the table
    axes.set(xlabel="seconds")
    axes.legend(ncols=len(STAGES), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return Picture(path, _describe_all(runs))


def name_of(run: Run) -> str:
    """A run's place, with its number of replicas."""
    return f"{run.place}, × {run.replicas}"


def _ending(run: Run, seconds: float) -> str:
    return f"{seconds:.1f} s" + (f", about {dollars(run.cost)}" if run.cost is not None else "")


def _describe_all(runs: Sequence[Run]) -> str:
    """The bars in words."""
    return "Seconds of each run: " + "; ".join(_describe_one(run) for run in runs) + "."


def _describe_one(run: Run) -> str:
    known = {stage: getattr(run, stage) for stage in STAGES}
    parts = [f"{stage} {seconds:.1f}" for stage, seconds in known.items() if seconds is not None]
    cost = f", about {dollars(run.cost)}" if run.cost is not None else ""
    accuracy = f", accuracy {run.accuracy:.2f}" if run.accuracy is not None else ""
    return f"{name_of(run)}: {', '.join(parts) or 'not known'}{cost}{accuracy}"
