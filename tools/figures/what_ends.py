"""What costs money over a weekend: what ends by itself, and what has to be ended."""

from __future__ import annotations

from collections.abc import Mapping

from tools.figures.drawing import DARK, GROUND, LINES, WIDTH, Drawing

LEFT, TIMES, RIGHT = 32, 264, 608  # of a row: its name, its bar
DAY = (RIGHT - TIMES) / 3
WHOLE = RIGHT - TIMES


def draw() -> Drawing:
    """One row a resource, and time to the right: Friday afternoon to Monday."""
    drawing = Drawing(
        "What still costs money after the lesson",
        "Time runs from Friday on the left over Saturday and Sunday to the right; a bar stands for "
        "as long as a resource costs money. Ends by itself: a job and a study have short bars on "
        "Friday. By the hour, until you stop or delete it: a notebook's machine, an endpoint "
        "and a job that hangs have bars over all three days. For what is stored, until you delete "
        "it: objects, a Tensorboard resource and logs have hatched bars over all three days.",
        height=620,
    )
    for number, day in enumerate(("Friday", "Saturday", "Sunday")):
        drawing.text(TIMES + (number + 0.5) * DAY, 28, day, bold=True)
    short = {"a job": (24, "minutes"), "a study": (72, "longer")}
    whole = {
        "a notebook's machine": (WHOLE, ""),
        "an endpoint": (WHOLE, ""),
        "a job that hangs": (WHOLE, ""),
    }
    stored = {"objects": (WHOLE, ""), "Tensorboard": (WHOLE, ""), "logs": (WHOLE, "")}
    _group(drawing, 50, "Ends by itself", DARK, short)
    _group(drawing, 210, "By the hour, until you stop or delete it", DARK, whole)
    _group(drawing, 416, "For what is stored, until you delete it", LINES, stored)
    return drawing


def _group(
    drawing: Drawing, y: float, title: str, fill: str, rows: Mapping[str, tuple[float, str]]
) -> None:
    """A panel with a title, and for each name a bar and what stands behind it."""
    drawing.box(12, y, WIDTH - 24, 52 + 46 * len(rows), GROUND)
    drawing.text(LEFT, y + 24, title, anchor="start", bold=True)
    for number, (name, (width, note)) in enumerate(rows.items()):
        middle = y + 68 + number * 46
        drawing.text(LEFT, middle, name, anchor="start")
        drawing.box(TIMES, middle - 12, width, 24, fill, round=0)
        if note:
            drawing.text(TIMES + width + 14, middle, note, anchor="start")
