"""Where values lie along an axis, and what is written beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from local_cloud.engine.studies.search import Parameter, Value

MOST_TICKS = 6
LONGEST = 12  # characters of a choice that are written beside an axis


@dataclass(frozen=True)
class Scale:
    """An axis: each value's share of its length, and its ticks as (share, text)."""

    share: Callable[[Value], float]
    ticks: Sequence[tuple[float, str]]


def of_numbers(values: Sequence[float], *, log: bool = False, whole: bool = False) -> Scale:
    """Return a scale for these numbers; all are above zero if log, and counts if whole."""
    low, high = _widen(min(values), max(values), log=log)
    bent = _log if log else _itself
    first, last = bent(low), bent(high)

    def share(value: Value) -> float:
        return (bent(float(value)) - first) / (last - first)

    marks = _log_ticks(low, high) if log else ticks(low, high, whole=whole)
    return Scale(
        share, [(share(each), f"{each:.10g}" if whole else f"{each:.4g}") for each in marks]
    )


def of_choices(known: Sequence[Value]) -> Scale:
    """Return a scale whose ticks are these choices, evenly spread; others lie at its beginning."""
    last = max(1, len(known) - 1)
    marks = [(place / last, str(value)[:LONGEST]) for place, value in enumerate(known)]
    return Scale(lambda value: known.index(value) / last if value in known else 0.0, marks)


def choices_of(parameter: Parameter, values: Sequence[Value]) -> Scale | None:
    """Return the scale of a parameter's choices; None if it is a number of a range."""
    if parameter.choices or any(isinstance(value, str) for value in values):
        return of_choices(parameter.choices or sorted(set(values), key=str))
    return None


def _itself(value: float) -> float:
    return value


def _log(value: float) -> float:
    return math.log10(value)


def _widen(low: float, high: float, *, log: bool) -> tuple[float, float]:
    if low < high:
        return low, high
    return (low / 2, high * 2) if log else (low - 0.5, high + 0.5)


def ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return four or five round numbers between these; whole: whole ones, and so perhaps fewer."""
    raw = (high - low) / 4
    scale = 10.0 ** math.floor(math.log10(raw))
    if whole:
        raw, scale = max(raw, 1.0), max(scale, 1.0)
    steps = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    step = next(scale * each for each in steps if scale * each >= raw)
    first = math.ceil(low / step - 1e-9)
    return [each * step for each in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten, for a short axis their twofold and fivefold too, or round numbers."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1,), (1, 2, 5)):
        values = [
            digit * 10.0**power
            for power in range(first, last + 1)
            for digit in digits
            if low * (1 - 1e-9) <= digit * 10.0**power <= high * (1 + 1e-9)
        ]
        if len(values) >= 3:
            return values[:: -(-len(values) // MOST_TICKS)]
    return ticks(low, high)
