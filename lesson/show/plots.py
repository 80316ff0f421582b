"""Pictures of runs, readable without colour: lines differ in dash as well as in hue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lesson.jobs.runs import Run
from lesson.machines.scaling import crossover
from lesson.money.costs import dollars
from lesson.show.picture import Picture
from lesson.show.trial_plots import plot_trials

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Picture",
    "comparison",
    "intervals",
    "learning_curve",
    "memory",
    "name_of",
    "plot_trials",
    "speed_ups",
]

# Both colours have a contrast of more than 4.5:1 on white.
TRAINING = {"color": "#0b5394", "linestyle": "-", "label": "training"}
VALIDATION = {"color": "#a61c00", "linestyle": "--", "label": "validation"}
RESUMED: dict[str, Any] = {"color": "#38761d", "linestyle": "-."}


def learning_curve(run: Run) -> Picture:
    """Draw loss and score over the epochs of a run into learning_curve.png in its folder.

    A dotted line marks the epoch with the lowest validation loss, dash-dotted ones those in which
    an interrupted run resumed.
    """
    import pandas as pd
    from matplotlib.figure import Figure

    history = pd.read_csv(run.folder / "history.csv").set_index("epoch")
    best, resumed = _best_and_resumed(run)
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    losses, scores = figure.subplots(1, 2)
    losses.plot(history["loss"], **TRAINING)
    losses.plot(history["val_loss"], **VALIDATION)
    scores.plot(history[f"val_{run.score_name}"], **VALIDATION)
    for axes, title in ((losses, "loss"), (scores, run.score_name)):
        axes.axvline(best, color="#444444", linestyle=":", label="best epoch")
        for number, epoch in enumerate(resumed):  # the legend has the first of them
            axes.axvline(epoch, **RESUMED, label="_" * number + "resumed")
        axes.set(xlabel="epoch", title=title)
        axes.legend(framealpha=1)
    picture = Picture(run.folder / "learning_curve.png", _describe(run, history))
    figure.savefig(picture.path, dpi=150)
    return picture


def _describe(run: Run, history: pd.DataFrame) -> str:
    """Return the learning curve in words."""
    best, resumed = _best_and_resumed(run)
    stops = f"; interrupted, the run resumed in epoch {_and(resumed)}" if resumed else ""
    first, at_best, last = history.iloc[0], history.loc[best], history.iloc[-1]
    return (
        f"Learning curve over {len(history)} epochs: the training loss falls from "
        f"{first['loss']:.2f} to {last['loss']:.2f}; the validation loss is lowest in epoch {best} "
        f"with {at_best['val_loss']:.2f} and ends at {last['val_loss']:.2f}; the validation "
        f"{run.score_name} is {at_best[f'val_{run.score_name}']:.2f} in that epoch{stops}."
    )


def _best_and_resumed(run: Run) -> tuple[int, list[int]]:
    """Return the epoch with the lowest validation loss, and those in which the run resumed."""
    epochs = run.metrics["epochs"]
    return epochs["best"], epochs.get("resumed", [])


def _and(items: Sequence[object]) -> str:
    """Return the items as in a sentence: 1, 2 and 3."""
    *most, last = map(str, items)
    return f"{', '.join(most)} and {last}" if most else last


def intervals(lost: Mapping[str, Callable[[float], float]], path: Path) -> Picture:
    """Draw the seconds that an hour loses, over the seconds between two checkpoints.

    `lost` names up to four situations and gives what each loses at an interval. A mark shows the
    least of each. The picture is written to `path`, as PNG.
    """
    import numpy as np
    from matplotlib.figure import Figure

    seconds = np.geomspace(1, 4 * 3600, 3000)
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots()
    words = []
    for (name, of), look in zip(lost.items(), LINES, strict=False):
        losses = [of(float(interval)) for interval in seconds]
        least = int(np.argmin(losses))
        axes.plot(seconds, losses, label=name, markevery=[least], **look)
        axes.annotate(
            f"{_short(seconds[least])} s", (seconds[least], losses[least]),
            xytext=(0, 8), textcoords="offset points", ha="center",
        )  # fmt: skip
        words.append(
            f"{name}: {losses[0]:.0f} s at one second, least at {_short(seconds[least])} s with "
            f"{losses[least]:.0f} s, {losses[-1]:.0f} s at four hours"
        )
    axes.set(xscale="log", yscale="log", ylim=(1, 3600))
    axes.set(xlabel="seconds between two checkpoints", ylabel="seconds lost in an hour")
    axes.legend(framealpha=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return Picture(path, f"Seconds that an hour loses, over the interval. {'; '.join(words)}.")


def _short(number: float) -> str:
    """Return the number with three digits that count: 379, 11.3, 1900."""
    return f"{float(f'{number:.3g}'):g}"


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
        axes.annotate(f" {_describe_end(run, end)}", (end, place), va="center")
    axes.set_yticks(places, [name_of(run) for run in runs])
    axes.set_xlim(0, 1.45 * max(left) or 1)  # room for the words behind the bars
    axes.invert_yaxis()  # the first run on top, as in the table
    axes.set(xlabel="seconds")
    axes.legend(ncols=len(STAGES), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return Picture(path, _describe_all(runs))


def name_of(run: Run) -> str:
    """Return a run's place, with its number of replicas."""
    return f"{run.place}, × {run.replicas}"


def _describe_end(run: Run, seconds: float) -> str:
    return f"{seconds:.1f} s" + (f", about {dollars(run.cost)}" if run.cost is not None else "")


def _describe_all(runs: Sequence[Run]) -> str:
    """Return the bars in words."""
    return "Seconds of each run: " + "; ".join(_describe_one(run) for run in runs) + "."


def _describe_one(run: Run) -> str:
    known = {stage: getattr(run, stage) for stage in STAGES}
    parts = [f"{stage} {seconds:.1f}" for stage, seconds in known.items() if seconds is not None]
    cost = f", about {dollars(run.cost)}" if run.cost is not None else ""
    score = f", {run.score_name} {run.score:.2f}" if run.score is not None else ""
    return f"{name_of(run)}: {', '.join(parts) or 'not known'}{cost}{score}"


# What a replica's memory is taken by.
HELD: dict[str, dict[str, Any]] = {
    "parameters": {"color": "#0b5394", "hatch": ""},
    "optimiser": {"color": "#9fc5e8", "hatch": "////"},
}


def memory(held: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> Picture:
    """Draw one bar for each replica of each run, of the bytes that it held.

    `held` has for each name of a run what its metrics.json has as "replicas". The picture is
    written to `path`, as PNG.
    """
    from matplotlib.figure import Figure

    bars = {
        f"{name}, replica {one['rank']}" if len(replicas) > 1 else name: one["bytes"]
        for name, replicas in held.items()
        for one in replicas
    }
    figure = Figure(figsize=(8, 1.2 + 0.35 * len(bars)), layout="constrained")
    axes = figure.subplots()
    left = [0.0] * len(bars)
    for part, look in HELD.items():
        megabytes = [each[part] / 1e6 for each in bars.values()]
        axes.barh(range(len(bars)), megabytes, left=left, edgecolor="#000000", label=part, **look)
        left = [begin + length for begin, length in zip(left, megabytes, strict=True)]
    for place, end in enumerate(left):
        axes.annotate(f" {end:.2f} MB", (end, place), va="center")
    axes.set_yticks(range(len(bars)), list(bars))
    axes.set_xlim(0, 1.2 * max(left))  # room for the words behind the bars
    axes.invert_yaxis()
    axes.set(xlabel="megabytes in each replica")
    axes.legend(ncols=len(HELD), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    words = (
        f"{name}: " + ", ".join(f"{part} {each[part] / 1e6:.2f}" for part in HELD)
        for name, each in bars.items()
    )
    return Picture(path, f"Megabytes in each replica: {'; '.join(words)}.")


# One line for each network or situation: hue, dash and marker differ.
LINES: tuple[dict[str, Any], ...] = (
    {"color": "#0b5394", "linestyle": "-", "marker": "o"},
    {"color": "#a61c00", "linestyle": "--", "marker": "s"},
    {"color": "#38761d", "linestyle": "-.", "marker": "^"},
    {"color": "#444444", "linestyle": ":", "marker": "D"},
)


def speed_ups(times: pd.DataFrame, path: Path | str) -> Picture:
    """Draw the measured speed-up over the rows per step, one line for each network, as PNG.

    `times` is what scaling.measure() returns. An arrow marks where each line crosses 1 for good.
    With a column `predicted`, crosses show the speed-ups that were predicted.
    """
    from matplotlib.figure import Figure

    path = Path(path)
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    axes.axhline(1, color="#000000", linewidth=1)
    parts = []
    for number, (hidden, some) in enumerate(times.groupby("hidden", sort=False)):
        look = LINES[number % len(LINES)]
        axes.plot(some["rows"], some["speed_up"], label=f"{hidden}, measured", **look)
        if "predicted" in some:
            cross = dict(color=look["color"], linestyle="", marker="x", markersize=9)
            axes.plot(some["rows"], some["predicted"], label=f"{hidden}, predicted", **cross)
        at = crossover([*some["rows"]], [*some["speed_up"]])
        if at is not None:
            axes.annotate(
                f"{_about(at)} rows", (at, 1), (30, -34), textcoords="offset points",
                color=look["color"], arrowprops={"arrowstyle": "->"},
            )  # fmt: skip
        parts.append(_describe_line(str(hidden), some, at))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(bottom=0)
    axes.set(xlabel="rows per step", ylabel="speed-up")
    axes.legend(framealpha=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return Picture(path, f"Speed-up over rows per step: {'; '.join(parts)}.")


def _describe_line(hidden: str, some: pd.DataFrame, at: float | None) -> str:
    """Return one line of the speed-ups in words."""
    (few, low), (many, high) = some[["rows", "speed_up"]].iloc[[0, -1]].to_numpy()
    crossing = f"above 1 from about {_about(at)} rows on" if at is not None else "not above 1"
    return (
        f"hidden layers {hidden} from {low:.2f} with {few:,.0f} rows to {high:.2f} with "
        f"{many:,.0f}, {crossing}"
    )


def _about(rows: float) -> str:
    """Round to two digits: more were not measured."""
    return f"{float(f'{rows:.2g}'):,.0f}"
