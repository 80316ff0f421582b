"""A study is a search for good settings: what may be tried, the trials, and what came of them."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from lesson import LessonError
from lesson.jobs.states import CANCELLED, ENDED, FAILED, QUEUED, RUNNING, SUCCEEDED, with_word
from lesson.money.costs import dollars
from lesson.show.progress import bar, bar_markup

if TYPE_CHECKING:
    import pandas as pd

    from lesson.jobs.runs import Run

Value: TypeAlias = float | int | str

SCALES = ("linear", "log", "reverse log")


# ---- what may be tried --------------------------------------------------------------------------
@dataclass(frozen=True)
class Between:
    """All numbers from `low` to `high`; whole ones, if both are."""

    low: float
    high: float
    scale: str = "linear"

    @property
    def whole(self) -> bool:
        """Tell whether only whole numbers are tried."""
        return isinstance(self.low, int) and isinstance(self.high, int)


@dataclass(frozen=True)
class OneOf:
    """One of some values: all texts, or all numbers."""

    values: tuple[Value, ...]

    @property
    def numbers(self) -> bool:
        """Tell whether the values are numbers, which have an order; texts have none."""
        return not isinstance(self.values[0], str)


Space: TypeAlias = Mapping[str, Between | OneOf]


def between(low: float, high: float, scale: str = "linear") -> Between:
    """Return all numbers from `low` to `high`; only whole ones if both are, as in between(5, 50).

    With scale="log" as many trials fall between 0.001 and 0.01 as between 0.01 and 0.1, with
    "linear" ten times fewer; "reverse log" is as fine near `high` as "log" is near `low`. Raises
    LessonError for anything that is no such range.
    """
    what = f"between({low!r}, {high!r})"
    if not (_is_number(low) and _is_number(high) and low < high):
        raise LessonError(f"{what}: name two numbers, the lower one first")
    if scale not in SCALES:
        raise LessonError(f"{what}: scale={scale!r}; name one of {', '.join(SCALES)}")
    if scale == "log" and low <= 0:
        raise LessonError(f"{what}: a log scale never reaches 0; begin above it, or use linear")
    return Between(low, high, scale)


def one_of(*values: Value) -> OneOf:
    """Return one of these values: texts, as one_of("16", "64,32"), or numbers, as one_of(16, 64).

    Numbers may be given in any order. Raises LessonError for both kinds together, and for a value
    that is given twice.
    """
    what = f"one_of({', '.join(map(repr, values))})"
    if not values or len(set(values)) < len(values):
        raise LessonError(f"{what}: name at least one value, and none of them twice")
    if all(isinstance(value, str) for value in values):
        return OneOf(values)
    if not all(_is_number(value) for value in values):
        raise LessonError(f"{what}: name texts only, or numbers only")
    return OneOf(tuple(sorted(values)))


def values(space: Space, sent: Mapping[str, Any]) -> dict[str, Value]:
    """Return a trial's values as the space has them; services send 5 as 5.0, or as a text."""
    return {name: _value(space.get(name), value) for name, value in sent.items()}


def _value(what: Between | OneOf | None, sent: Any) -> Value:
    if isinstance(what, Between):
        return int(float(sent)) if what.whole else float(sent)
    if isinstance(what, OneOf) and what.numbers:
        return next(value for value in what.values if value == float(sent))
    return str(sent)


def _is_number(value: Any) -> bool:
    whole_or_real = isinstance(value, int | float) and not isinstance(value, bool)
    return whole_or_real and math.isfinite(value)


# ---- what came of it ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Trial:
    """One training of a study, with values of its own.

    `number` counts from 1 in the order of sending, `name` is the service's name of the job that it
    is, `result` the objective's value, `seconds` those of its machines so far, `reason` why there
    is no result, and `artefacts` the URI of what it left.
    """

    number: int
    name: str
    state: str
    values: Mapping[str, Value]
    result: float | None = None
    seconds: float = 0.0
    reason: str = ""
    artefacts: str = ""
    service_state: str = ""  # the service's own word for the state


@dataclass(frozen=True, repr=False)
class Study:
    """A search as it stands: its trials, and the run of the best one once the study has ended.

    `seconds` from asking for the study to its end or until now; `cost` in US dollars, the sum over
    the trials' machines at list price, None where no price is known. Notebooks show a table.
    """

    place: str
    metric: str
    goal: str  # minimize or maximize
    trials: tuple[Trial, ...] = ()
    seconds: float = 0.0
    cost: float | None = None
    job: Any = field(default=None, compare=False)  # the SDK's own object
    request: Mapping[str, Any] = field(default_factory=dict)  # what was sent: lesson.jobs.request
    run: Run | None = None  # the best trial's, with its results fetched
    name: str = ""  # the tuning job's
    state: str = QUEUED  # one of lesson.jobs.states
    service_state: str = ""  # the service's own word
    planned: int = 0  # how many trials there are to be at most
    space: Space = field(default_factory=dict)

    @property
    def trials_with_result(self) -> tuple[Trial, ...]:
        """Return the trials that succeeded, with a result."""
        return tuple(
            one for one in self.trials if one.state == SUCCEEDED and one.result is not None
        )

    @property
    def best(self) -> Trial:
        """Return the trial with the best result; raise LessonError while there is none."""
        if not self.trials_with_result:
            raise LessonError(f"{self.name}: no trial has a result; wait({self.name!r}) shows why")
        return min(self.trials_with_result, key=lambda trial: self.sign * (trial.result or 0.0))

    @property
    def sign(self) -> int:
        """Return the factor that makes less better."""
        return 1 if self.goal == "minimize" else -1

    def table(self) -> pd.DataFrame:
        """Return the trials, one row each, rounded for reading; blank where nothing is known."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=self._heads())

    # ---- how it is shown ------------------------------------------------------------------------
    def lines(self, width: int | None = None, height: int | None = None) -> list[str]:
        """Return how far it is, and the newest trials that fit; lines are cut after `width`."""
        rows = [self._heads(), *([_word(cell) for cell in row] for row in self._rows())]
        if len(rows) == 1:
            return [bar(self.share, self.words())[:width]]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        head, *body = (
            "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )
        room = len(body) if height is None else max(0, height - 2)
        shown = [head, *body[len(body) - room :]] if room else []
        return [line[:width] for line in [bar(self.share, self.words()), *shown]]

    @property
    def share(self) -> float:
        """Return which part is done, from 0 to 1; all of it, if it has ended with fewer trials."""
        return 1.0 if self.state in ENDED else self._count_ended() / max(1, self.planned)

    def words(self) -> str:
        """Return how far the study is, in words."""
        states = [trial.state for trial in self.trials]
        state = with_word(self.state, self.service_state)
        parts = [state, f"{self._count_ended()} of {self.planned} trials"]
        parts += [
            f"{n} {state}" for state in (RUNNING, FAILED, CANCELLED) if (n := states.count(state))
        ]
        if self.trials_with_result:
            parts.append(f"best {self.metric} {self.best.result:.4f} (trial {self.best.number})")
        parts.append(f"{self.seconds:.0f} s")
        if self.cost is not None:
            parts.append(f"about {dollars(self.cost)}")
        return "  ".join(parts)

    def markup(self) -> str:
        """Return the bar and the trials, for a notebook."""
        top = bar_markup(self.share, self.words(), "progress of the study")
        heads = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in self._heads())
        rows = (
            "".join(f"<td>{html.escape(_word(cell))}</td>" for cell in row) for row in self._rows()
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"{top}<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        """Return how far it is, and the trials."""
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return self.markup()

    def _count_ended(self) -> int:
        return sum(trial.state in ENDED for trial in self.trials)

    def _heads(self) -> list[str]:
        return ["trial", "state", *self._names(), self.metric, "seconds", "note"]

    def _names(self) -> list[str]:
        """Return the parameters, those of the space first."""
        tried = (name for trial in self.trials for name in trial.values)
        return list(dict.fromkeys([*self.space, *tried]))

    def _rows(self) -> list[list[Value]]:
        best = self.best if self.trials_with_result else None
        return [
            [
                trial.number,
                with_word(trial.state, trial.service_state),
                *(_round(trial.values.get(name, "")) for name in self._names()),
                "" if trial.result is None else round(trial.result, 4),
                round(trial.seconds, 1),
                "best" if trial is best else trial.reason,
            ]
            for trial in self.trials
        ]


def _own_reason(trial: Trial) -> str:
    return trial.reason


class NoResult(LessonError):
    """No trial of a study came to a result; `study` has the trials, each with its reason."""

    def __init__(self, study: Study, explain: Callable[[Trial], str] = _own_reason) -> None:
        """explain: says why a trial has no result, and what to look at."""
        self.study = study
        failed = [trial for trial in study.trials if trial.reason]
        count = {0: "no trial was sent", 1: "its one trial failed"}.get(
            len(study.trials), f"all {len(study.trials)} trials failed"
        )
        last = f" Trial {failed[-1].number}: {explain(failed[-1]).rstrip('.')}." if failed else ""
        again = f"wait({study.name!r}) shows all trials again"
        super().__init__(f"{study.name}: {count}.{last} {again}")


def _round(value: Value) -> Value:
    """Return a number with the four digits that a reader compares."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _word(cell: Value) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
