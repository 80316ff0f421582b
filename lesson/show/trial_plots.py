"""A study in one picture: what the trials reached, with which values, and which values matter."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lesson import LessonError
from lesson.jobs.studies import Between, OneOf, Study, Trial, Value
from lesson.show.picture import Picture

if TYPE_CHECKING:
    import optuna
    from matplotlib.axes import Axes

    Distribution = optuna.distributions.BaseDistribution

# All have a contrast of more than 4.5:1 on white; the lines differ in width and dash too.
DARK, RED, BLACK = "#0b5394", "#a61c00", "#000000"
GOOD, BAD = (0x0B, 0x53, 0x94), (0x76, 0x76, 0x76)  # of a line between the axes
BELOW: dict[str, Any] = dict(loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)
FEWEST = 4  # trials with a result, below which nothing is said about importance


def plot_trials(study: Study, path: Path | None = None) -> Picture:
    """Draw a study: its results in order, its trials' values side by side, and which values matter.

    Left: the objective of each trial, and the best so far. Middle: a line for each trial through
    its values, the better the bluer and thicker. Right: the share of each parameter in how much
    the results differ, by Optuna, if there are enough of them. The picture is written to `path`, by
    default runs/NAME.png. Raises LessonError for a study none of whose trials has a result.
    """
    from matplotlib.figure import Figure

    if not study.trials_with_result:
        raise LessonError(f"{study.name}: no trial has a result, so there is nothing to draw")
    path = path or Path("runs") / f"{study.name}.png"
    shares = importance(study)
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1.5, 0.8])
    _draw_results(left, study)
    _draw_values(middle, study)
    _draw_importance(right, shares)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return Picture(path, _describe(study, shares))


def importance(study: Study) -> dict[str, float]:
    """Return the share of each parameter in how much the results differ; empty if unknown.

    It is Optuna's fANOVA: a forest of trees is fitted to the results, and its variance is divided
    among the parameters.
    """
    done = [trial for trial in study.trials_with_result if set(study.space) <= set(trial.values)]
    if len(done) < FEWEST or len({trial.result for trial in done}) == 1:
        return {}  # without the second that Optuna takes to load
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)  # not a line for every study
    recorded = optuna.create_study(direction="minimize")
    known = {name: _distribution(what) for name, what in study.space.items()}
    for trial in done:
        values: Any = {name: trial.values[name] for name in known}
        recorded.add_trial(
            optuna.trial.create_trial(params=values, distributions=known, value=trial.result)
        )
    judge = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return optuna.importance.get_param_importances(recorded, evaluator=judge)


def _distribution(what: Between | OneOf) -> Distribution:
    """Return what Optuna calls it."""
    from optuna import distributions

    if isinstance(what, OneOf):
        return distributions.CategoricalDistribution(what.values)
    log = what.scale == "log"
    if what.whole:
        return distributions.IntDistribution(int(what.low), int(what.high), log=log)
    return distributions.FloatDistribution(what.low, what.high, log=log)


# ---- left ---------------------------------------------------------------------------------------
def _draw_results(axes: Axes, study: Study) -> None:
    from matplotlib.ticker import MaxNLocator

    numbers = [trial.number for trial in study.trials_with_result]
    results = [trial.result or 0.0 for trial in study.trials_with_result]
    axes.scatter(numbers, results, color=DARK, label="trial", zorder=2)
    axes.step(numbers, best_so_far(study), color=RED, where="post", ls="--", label="best so far")
    others = [trial.number for trial in study.trials if trial not in study.trials_with_result]
    if others:
        low = axes.get_ylim()[0]
        axes.scatter(others, [low] * len(others), color=BLACK, marker="x", label="no result")
    axes.set(xlabel="trial", ylabel=study.metric, title="results")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(**BELOW, ncols=3, columnspacing=1, handletextpad=0.5)


def best_so_far(study: Study) -> list[float]:
    """Return the best of the results up to each trial that has one."""
    best: list[float] = []
    for trial in study.trials_with_result:
        better = min if study.goal == "minimize" else max
        best.append(better([*best[-1:], trial.result or 0.0]))
    return best


# ---- middle -------------------------------------------------------------------------------------
def _draw_values(axes: Axes, study: Study) -> None:
    """Draw parallel coordinates: an axis for each parameter, a line for each trial.

    The best trial is on top.
    """
    names = list(study.space)
    order = sorted(study.trials_with_result, key=lambda trial: -study.sign * (trial.result or 0.0))
    for rank, trial in enumerate(order):
        share = rank / max(1, len(order) - 1)  # 1 is the best
        colour = tuple((b + share * (g - b)) / 255 for g, b in zip(GOOD, BAD, strict=True))
        best = rank == len(order) - 1
        heights = [_height(study.space[name], trial.values[name]) for name in names]
        axes.plot(
            range(len(names)), heights, color=RED if best else colour, marker="o",
            linewidth=3 if best else 0.6 + 1.4 * share, linestyle="--" if best else "-",
            label=f"best, trial {trial.number}" if best else None,
        )  # fmt: skip
    for place, name in enumerate(names):
        axes.axvline(place, color=BLACK, linewidth=1, zorder=0)
        for height, word in _ticks(study.space[name]):
            axes.annotate(
                word, (place, height), xytext=(4, 0), textcoords="offset points", va="center",
                fontsize="small", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )  # fmt: skip
    axes.set_xticks(range(len(names)), names)
    axes.set(xlim=(-0.2, len(names) - 0.5), ylim=(-0.08, 1.08), yticks=[])
    axes.set_title("values: the bluer, the better")
    axes.legend(**BELOW)


def _height(what: Between | OneOf, value: Value) -> float:
    """Return where on its axis a value is, from 0 to 1."""
    if isinstance(what, OneOf):
        return what.values.index(value) / max(1, len(what.values) - 1)
    low, high, at = what.low, what.high, float(value)
    if what.scale == "log":
        low, high, at = math.log(low), math.log(high), math.log(at)
    return (at - low) / (high - low)


def _ticks(what: Between | OneOf) -> list[tuple[float, str]]:
    values = what.values if isinstance(what, OneOf) else (what.low, what.high)
    return [(_height(what, value), f"{value:g}" if not isinstance(value, str) else value)
            for value in values]  # fmt: skip


# ---- right --------------------------------------------------------------------------------------
def _draw_importance(axes: Axes, shares: dict[str, float]) -> None:
    axes.set(title="importance")
    if not shares:
        axes.set_axis_off()
        axes.text(0.5, 0.5, _too_few(), ha="center", va="center", wrap=True)
        return
    bars = axes.barh([*shares], [*shares.values()], color=DARK)
    axes.bar_label(bars, [f"{share:.0%}" for share in shares.values()], padding=3)
    axes.set_xlim(0, 1.25 * max(shares.values()))
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.invert_yaxis()


def _too_few() -> str:
    return f"needs {FEWEST} trials\nwith results\nthat differ"


def _describe(study: Study, shares: dict[str, float]) -> str:
    """Return the picture in words."""
    best, first = study.best, study.trials_with_result[0]
    values = ", ".join(f"{name} {_word(best, name)}" for name in best.values)
    parts = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    lost = len(study.trials) - len(study.trials_with_result)
    without = f", and {lost} without a result" if lost else ""
    return (
        f"{len(study.trials_with_result)} trials{without}: {study.metric} goes from"
        f" {first.result:.4f} in the first to {best.result:.4f} in the best, trial {best.number},"
        f" with {values}. "
        + (f"Importance: {parts}." if parts else f"Importance {_too_few()}.".replace("\n", " "))
    )


def _word(trial: Trial, name: str) -> str:
    value = trial.values[name]
    return f"{value:.3g}" if isinstance(value, float) else str(value)
