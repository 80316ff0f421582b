"""Pictures of runs, readable without colour: lines differ in dash as well as in hue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lesson.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Both colours have a contrast of more than 4.5:1 on white.
TRAINING = {"color": "#0b5394", "linestyle": "-", "label": "training"}
VALIDATION = {"color": "#a61c00", "linestyle": "--", "label": "validation"}


def learning_curve(run: Run) -> Figure:
    """Draw loss and accuracy over the epochs of a run, and write learning_curve.png beside it.

    A dotted line marks the epoch with the lowest validation loss.
    """
    import pandas as pd
    from matplotlib.figure import Figure

    history = pd.read_csv(Path(run.artefacts) / "history.csv")
    best = run.metrics["epochs"]["best"]
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    losses, accuracies = figure.subplots(1, 2)
    losses.plot(history["epoch"], history["loss"], **TRAINING)
    losses.plot(history["epoch"], history["val_loss"], **VALIDATION)
    accuracies.plot(history["epoch"], history["val_accuracy"], **VALIDATION)
    for axes, title in ((losses, "loss"), (accuracies, "accuracy")):
        axes.axvline(best, color="#444444", linestyle=":", label=f"best epoch, {best}")
        axes.set(xlabel="epoch", title=title)
        axes.legend(framealpha=1)
    figure.savefig(picture(run), dpi=150)
    return figure


def picture(run: Run) -> Path:
    """Where the learning curve of a run lies."""
    return Path(run.artefacts) / "learning_curve.png"
