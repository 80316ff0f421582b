"""Charts as lines of an SVG: where each point lies. The templates draw them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from local_cloud.console.site import words

WIDTH, HEIGHT = 480, 220
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 12, 28
MOST_POINTS = 400  # of a line: more than a screen shows

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """One line of a chart."""

    name: str
    points: str  # as SVG's polyline has them
    last: str  # the latest value, in words
    dot: tuple[float, float]  # where that is


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    place: float
    text: str


@dataclass(frozen=True)
class Chart:
    """A chart of lines; `told` says in words what it shows."""

    title: str
    lines: Sequence[Line]
    across: Sequence[Tick]
    up: Sequence[Tick]
    told: str
    axis: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def lines(title: str, series: Mapping[str, Points], axis: str = "epoch") -> Chart | None:
    """Draw a chart of these series; None if there is no point in them."""
    everything = [point for points in series.values() for point in points]
    if not everything:
        return None
    x_low, x_high = _range([x for x, _ in everything])
    y_low, y_high = _range([y for _, y in everything])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x_low) / (x_high - x_low)
        up = (y - y_low) / (y_high - y_low)
        return (
            round(LEFT + across * (WIDTH - LEFT - RIGHT), 1),
            round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1),
        )

    drawn = []
    for name, points in series.items():
        if points:
            placed = [place(x, y) for x, y in thin_out(points)]
            text = " ".join(f"{x},{y}" for x, y in placed)
            drawn.append(Line(name, text, words.number(points[-1][1]), placed[-1]))
    last = max(x for x, _ in everything)
    told = f"{title}, to {axis} {words.number(last)}: " + ", ".join(
        f"{line.name} {line.last}" for line in drawn
    )
    across = [Tick(place(x, y_low)[0], f"{x:.10g}") for x in _ticks(x_low, x_high)]
    up = [Tick(place(x_low, y)[1], f"{y:.4g}") for y in _ticks(y_low, y_high)]
    return Chart(title, drawn, across, up, told, axis)


def thin_out(points: Points, most: int = MOST_POINTS) -> Points:
    """Return so many of the points at most, evenly spread, the first and the last among them."""
    if len(points) <= most:
        return points
    return [points[round(each * (len(points) - 1) / (most - 1))] for each in range(most)]


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low == high:
        return low - 0.5, high + 0.5
    return low, high


def _ticks(low: float, high: float) -> list[float]:
    """Return four or five round numbers between these."""
    raw = (high - low) / 4
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(scale * each for each in (1, 2, 2.5, 5, 10) if scale * each >= raw)
    first = math.ceil(low / step - 1e-9)
    return [each * step for each in range(first, math.floor(high / step + 1e-9) + 1)]
