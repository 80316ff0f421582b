"""Pictures of runs, readable without colour: lines differ in dash as well as in hue."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
