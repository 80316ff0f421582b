"""Parallel coordinates: one axis for each parameter and one for the result, one line a trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from local_cloud.console.charts.scales import Scale, choices_of
from local_cloud.console.site import words
from local_cloud.engine.studies.search import Parameter, Value
from local_cloud.engine.studies.spec import Study

WIDTH, HEIGHT = 760, 320
LEFT, RIGHT, TOP, BOTTOM = 70, 70, 34, 18


@dataclass(frozen=True)
class Axis:
    """One axis, and what is written beside it."""

    name: str
    place: float
    ticks: Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Trial:
    """One trial's line."""

    number: int
    points: str
    rank: str  # best, good, or other: how it is drawn
    told: str


@dataclass(frozen=True)
class Parallel:
    """The whole picture."""

    axes: Sequence[Axis]
    trials: Sequence[Trial]
    told: str
    width: int = WIDTH
    height: int = HEIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def of(study: Study, metric: str) -> Parallel | None:
    """Draw a study; None before two trials have a result."""
    done = [trial for trial in study.trials if trial.result is not None]
    if len(done) < 2:
        return None
    parameters = [one for one in study.spec.parameters if all(one.name in t.values for t in done)]
    results = [trial.result or 0.0 for trial in done]
    scales = [_scale(one, [trial.values[one.name] for trial in done]) for one in parameters]
    scales.append(_numbers(results, log=False))
    step = (WIDTH - LEFT - RIGHT) / max(1, len(scales) - 1)
    places = [round(LEFT + each * step, 1) for each in range(len(scales))]
    names = [*(one.name for one in parameters), metric]
    axes = [
        Axis(name, place, [(_height(share), text) for share, text in scale.ticks])
        for name, place, scale in zip(names, places, scales, strict=True)
    ]
    order = sorted(results, reverse=study.spec.maximize)
    drawn = []
    for number, trial in enumerate(study.trials, 1):
        if trial.result is None:
            continue
        values = [*(trial.values[one.name] for one in parameters), trial.result]
        heights = [_height(one.share(value)) for one, value in zip(scales, values, strict=True)]
        points = " ".join(f"{x},{y}" for x, y in zip(places, heights, strict=True))
        place = order.index(trial.result)
        rank = "best" if place == 0 else "good" if place < len(order) / 3 else "other"
        said = ", ".join(f"{n} {words.number(v)}" for n, v in zip(names, values, strict=True))
        drawn.append(Trial(number, points, rank, f"Trial {number}: {said}"))
    drawn.sort(key=lambda one: ("other", "good", "best").index(one.rank))  # the best on top
    told = f"{len(drawn)} trials over {', '.join(names)}. {drawn[-1].told} is the best."
    return Parallel(axes, drawn, told)


def _scale(parameter: Parameter, values: Sequence[Value]) -> Scale:
    if choices := choices_of(parameter, values):
        return choices
    numbers = [float(value) for value in values]
    return _numbers(numbers, log="log" in parameter.scale and min(numbers) > 0)


def _numbers(values: Sequence[float], *, log: bool) -> Scale:
    def bent(value: Value) -> float:
        return math.log(float(value)) if log else float(value)

    low, high = bent(min(values)), bent(max(values))
    width = high - low or 1.0

    def place(value: Value) -> float:
        return (bent(value) - low) / width if high > low else 0.5

    middle = (low + high) / 2
    middle = math.exp(middle) if log else middle
    ticks = [(0.0, min(values)), (0.5, middle), (1.0, max(values))] if high > low else []
    return Scale(place, [(share, f"{value:.3g}") for share, value in ticks or [(0.5, values[0])]])


def _height(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)
