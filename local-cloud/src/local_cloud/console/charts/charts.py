"""Charts as lines of an SVG: where each point lies. The templates draw them.

Each line carries what its points are, in words: static/charts.js shows them at the pointer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from local_cloud.console.charts.looks import AS_IT_IS, Look, smooth
from local_cloud.console.charts.scales import Scale, of_numbers
from local_cloud.console.site import words
from local_cloud.engine.studies.search import Value

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
    at: str = ""  # of each point the epoch, in words
    values: str = ""  # and the value
    smoothed: str = ""  # and what is drawn in its place, if that is another
    behind: str = ""  # the points before they were smoothed
    marks: Sequence[tuple[float, float]] = ()  # points in place of a line
    colour: int = 0  # which of the page's six


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    place: float
    text: str


@dataclass(frozen=True)
class Dot:
    """A point that belongs to no line."""

    x: float
    y: float
    told: str
    rank: str = "other"  # best or other: how it is drawn


@dataclass(frozen=True)
class Chart:
    """A chart of lines, or of dots; `told` says in words what it shows."""

    title: str
    lines: Sequence[Line]
    across: Sequence[Tick]
    up: Sequence[Tick]
    told: str
    axis: str
    dots: Sequence[Dot] = ()
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def lines(
    title: str,
    series: Mapping[str, Points],
    axis: str = "epoch",
    *,
    look: Look = AS_IT_IS,
    marks: Collection[str] = (),
    colours: Sequence[str] = (),
) -> Chart | None:
    """Draw a chart of these series, those in `marks` as points; None if there is no point.

    colours: the names of series in the order of their colours, for charts that lack some. On a
    logarithmic scale values of zero or less are left out, unless there are only such.
    """
    drawable = {
        name: [point for point in points if point[1] > 0] if look.log else points
        for name, points in series.items()
    }
    log = look.log and any(drawable.values())
    thinned = {
        name: thin_out(points) for name, points in (drawable if log else series).items() if points
    }
    everything = [point for points in thinned.values() for point in points]
    if not everything:
        return None
    across = of_numbers([x for x, _ in everything], whole=True)
    up = of_numbers([y for _, y in everything], log=log)
    drawn = [
        _line(
            name,
            points,
            across=across,
            up=up,
            smoothing=look.smoothing,
            marked=name in marks,
            colour=(colours or list(thinned)).index(name),
        )
        for name, points in thinned.items()
    ]
    last = words.number(max(x for x, _ in everything))
    told = f"{title}, to {axis} {last}: " + ", ".join(f"{one.name} {one.last}" for one in drawn)
    return _chart(title, drawn, axis, across=across, up=up, told=told)


def dots(
    title: str, points: Mapping[str, tuple[Value, float]], axis: str, *, across: Scale, best: str
) -> Chart:
    """Draw a chart of single points, by what is said of each; best: the one that stands out."""
    up = of_numbers([y for _, y in points.values()])
    placed = [
        Dot(*_place(across.share(x), up.share(y)), told, "best" if told == best else "other")
        for told, (x, y) in points.items()
    ]
    placed.sort(key=lambda dot: dot.told == best)  # on top of the others
    told = f"{title}: {len(placed)} trials. {best} is the best."
    return _chart(title, (), axis, across=across, up=up, told=told, dots=placed)


def _line(
    name: str,
    points: Points,
    *,
    across: Scale,
    up: Scale,
    smoothing: float,
    marked: bool,
    colour: int,
) -> Line:
    values = [y for _, y in points]
    drawn = smooth(values, smoothing) if smoothing and not marked else values
    placed = _places([x for x, _ in points], drawn, across=across, up=up)
    return Line(
        name,
        "" if marked else _pairs(placed),
        words.number(values[-1]),
        placed[-1],
        at=" ".join(f"{x:.10g}" for x, _ in points),
        values=" ".join(map(words.number, values)),
        smoothed=" ".join(map(words.number, drawn)) if drawn is not values else "",
        behind=_pairs(_places([x for x, _ in points], values, across=across, up=up))
        if drawn is not values
        else "",
        marks=placed if marked else (),
        colour=colour,
    )


def _places(
    positions: Sequence[float], values: Sequence[float], *, across: Scale, up: Scale
) -> list[tuple[float, float]]:
    return [_place(across.share(x), up.share(y)) for x, y in zip(positions, values, strict=True)]


def _pairs(placed: Points) -> str:
    return " ".join(f"{x},{y}" for x, y in placed)


def _place(across: float, up: float) -> tuple[float, float]:
    return (
        round(LEFT + across * (WIDTH - LEFT - RIGHT), 1),
        round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1),
    )


def _chart(
    title: str,
    drawn: Sequence[Line],
    axis: str,
    *,
    across: Scale,
    up: Scale,
    told: str,
    dots: Sequence[Dot] = (),
) -> Chart:
    columns = [Tick(_place(share, 0)[0], text) for share, text in across.ticks]
    rows = [Tick(_place(0, share)[1], text) for share, text in up.ticks]
    return Chart(title, drawn, columns, rows, told, axis, dots)


def thin_out(points: Points, most: int = MOST_POINTS) -> Points:
    """Return so many of the points at most, evenly spread, the first and the last among them."""
    if len(points) <= most:
        return points
    return [points[round(each * (len(points) - 1) / (most - 1))] for each in range(most)]
