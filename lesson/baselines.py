"""Compare models that were tested on the same rows: scores with intervals, time, cost."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lesson import LessonError
from lesson.show.picture import Picture

if TYPE_CHECKING:
    import pandas as pd

Z = 1.959964  # standard deviations on both sides of the mean that hold 95 %
COLUMNS = ("right", "rows", "accuracy", "low", "high", "seconds", "cost")


@dataclass(frozen=True)
class Baseline:
    """A model's answers on the test rows.

    `right` says for each row whether the answer was right, in the rows' order. `seconds` is what
    the training took, from asking for it to its end; `cost` is in US dollars, at list price. None
    is what is not known.
    """

    name: str
    right: tuple[bool, ...]
    seconds: float | None = None
    cost: float | None = None

    @property
    def accuracy(self) -> float:
        """Return the share of the rows on which it was right."""
        return sum(self.right) / len(self.right)

    @property
    def interval(self) -> tuple[float, float]:
        """Return the accuracy's 95 % interval."""
        return interval(sum(self.right), len(self.right))


def judge(
    name: str,
    answers: Iterable[object],
    truth: Iterable[object],
    *,
    seconds: float | None = None,
    cost: float | None = None,
) -> Baseline:
    """Compare answers with the truth, row by row; a service's "1" is 1.

    Raises LessonError where they are not equally many, or where there is none.
    """
    mine, real = [_plain(one) for one in answers], [_plain(one) for one in truth]
    if len(mine) != len(real) or not real:
        raise LessonError(
            f"{name}: {len(mine)} answers for {len(real)} rows; give one answer for each row"
        )
    right = tuple(one == other for one, other in zip(mine, real, strict=True))
    return Baseline(name, right, seconds, cost)


def _plain(value: object) -> str:
    """Return 1, 1.0, True and "1" as the same text."""
    try:
        return f"{float(str(value)) if not isinstance(value, bool) else float(value):g}"
    except ValueError:
        return str(value).strip()


def in_order(lines: Iterable[str], key: str, keys: Iterable[object]) -> list[str]:
    """Return the classes that AutoML's batch prediction has chosen, for these keys in their order.

    `lines` are those of its result files, each with an instance and its prediction; `key` is the
    field of the instance by which it is found. Raises LessonError for one that is not there.
    """
    chosen: dict[object, str] = {}
    for line in lines:
        one = json.loads(line)
        scores = one["prediction"]["scores"]
        chosen[one["instance"][key]] = one["prediction"]["classes"][scores.index(max(scores))]
    wanted = list(keys)
    if missing := [each for each in wanted if each not in chosen]:
        raise LessonError(f"no prediction for {key} {missing[0]}: look at the job's errors")
    return [chosen[each] for each in wanted]


def interval(right: int, rows: int) -> tuple[float, float]:
    """Return the 95 % interval of a share: `right` of so many rows (Wilson's).

    >>> low, high = interval(146, 179)
    >>> print(f"{low:.3f} {high:.3f}")
    0.752 0.866

    Source: E. B. Wilson, Journal of the American Statistical Association 22 (1927), 209-212.
    """
    share, weight = right / rows, Z**2 / rows
    middle = (share + weight / 2) / (1 + weight)
    half = Z * math.sqrt(share * (1 - share) / rows + weight / (4 * rows)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def sign_test(one: Baseline, other: Baseline) -> float:
    """Return how probable it is that two equally good models differ by as much as these, or more.

    Only the rows count on which one of them was right. Raises LessonError for other rows.
    """
    if len(one.right) != len(other.right):
        raise LessonError("the two were tested on different rows; test both on the same rows")
    first = sum(a and not b for a, b in zip(one.right, other.right, strict=True))
    second = sum(b and not a for a, b in zip(one.right, other.right, strict=True))
    apart = first + second
    tail = sum(math.comb(apart, count) for count in range(max(first, second), apart + 1))
    return min(1.0, tail / 2.0 ** (apart - 1))


def table(baselines: Sequence[Baseline]) -> pd.DataFrame:
    """Return a row for each, the best first."""
    import pandas as pd

    rows = {
        each.name: (
            sum(each.right),
            len(each.right),
            each.accuracy,
            *each.interval,
            each.seconds,
            each.cost,
        )
        for each in _best_first(baselines)
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS))
    return frame.astype({"seconds": float, "cost": float}).round(3)


def _best_first(baselines: Sequence[Baseline]) -> list[Baseline]:
    return sorted(baselines, key=lambda each: -each.accuracy)


def plot(baselines: Sequence[Baseline], path: str | Path) -> Picture:
    """Draw each accuracy with its interval, the best on top, and write the picture to `path`.

    A grey band is the interval of the best: a model whose point lies in it may be as good.
    """
    from matplotlib.figure import Figure

    ordered = _best_first(baselines)
    figure = Figure(figsize=(8, 1 + 0.45 * len(ordered)), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(*ordered[0].interval, color="#dddddd", label="interval of the best")
    for place, each in enumerate(reversed(ordered)):
        low, high = each.interval
        axes.plot([low, high], [place, place], color="#0b5394", linewidth=2)
        axes.plot(each.accuracy, place, marker="o", color="#0b5394")
        axes.annotate(
            f"{each.accuracy:.3f}",
            (each.accuracy, place),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
        )
    axes.set_yticks(range(len(ordered)), [each.name for each in reversed(ordered)])
    axes.set(ylim=(-0.6, len(ordered) - 0.3))
    axes.set(xlabel=f"accuracy on {len(ordered[0].right)} test rows, with 95 % intervals")
    axes.legend(framealpha=1, loc="upper left")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return Picture(path, _describe(ordered))


def _describe(ordered: Sequence[Baseline]) -> str:
    """Return the picture in words."""
    words = [
        f"{each.name} {each.accuracy:.3f}, from {each.interval[0]:.3f} to {each.interval[1]:.3f}"
        for each in ordered
    ]
    rows = len(ordered[0].right)
    return f"Accuracies on {rows} test rows with their intervals. {'; '.join(words)}."
