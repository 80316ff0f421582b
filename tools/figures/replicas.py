"""Two replicas: a script that knows of one machine only, beside one that shares out the rows."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, LINES, Drawing

LEFT, RIGHT, PANEL = 12, 328, 300
COLUMN, OFFSETS = 128, (14, 158)  # of a replica in its panel


def draw() -> Drawing:
    """The naive case on the left, data parallelism on the right, step by step downwards."""
    drawing = Drawing(
        "Two replicas: two copies, or one model",
        "Two panels, each with replica 0 and replica 1 side by side. On the left, “Two copies”: "
        "each replica has all 569 rows, computes a gradient, makes a step of its own and has "
        "weights of its own; no arrow leads from one to the other, so there are two models, each "
        "of all the rows. On the right, “One model”: replica 0 has the first 284 rows and replica "
        "1 the other 285. Both gradients lead into one bar, in which they are added up in every "
        "step, and from the bar the sum leads back to both; each makes the same step and has the "
        "same weights, so there is one model of all the rows.",
        height=654,
    )
    _panel(drawing, LEFT, "Two copies", "own step", "own weights")
    _panel(drawing, RIGHT, "One model", "same step", "same weights")
    for x, whole in ((LEFT, True), (RIGHT, False)):
        _rows(drawing, x + OFFSETS[0], 0, 1 if whole else 0.5, "569" if whole else "284")
        _rows(drawing, x + OFFSETS[1], 0 if whole else 0.5, 1, "569" if whole else "285")
    for offset in OFFSETS:
        drawing.arrow((LEFT + offset + 64, 256), (LEFT + offset + 64, 418))
        drawing.arrow((RIGHT + offset + 64, 256), (RIGHT + offset + 64, 288))
        drawing.arrow((RIGHT + offset + 64, 386), (RIGHT + offset + 64, 418))
    drawing.label(RIGHT + 14, 292, 272, 90, "added up,", "in every step", fill=DARK)
    drawing.text(LEFT + PANEL / 2, 592, "two models,", "each of all the rows")
    drawing.text(RIGHT + PANEL / 2, 592, "one model,", "of all the rows")
    return drawing


def _panel(drawing: Drawing, x: float, title: str, step: str, weights: str) -> None:
    """What both cases have, for both replicas."""
    drawing.box(x, 12, PANEL, 630, GROUND)
    drawing.text(x + PANEL / 2, 38, title, bold=True)
    for number, offset in enumerate(OFFSETS):
        left, middle = x + offset, x + offset + COLUMN / 2
        drawing.text(middle, 78, f"replica {number}")
        drawing.arrow((middle, 164), (middle, 204))
        drawing.label(left, 208, COLUMN, 44, "gradient")
        drawing.label(left, 422, COLUMN, 44, step)
        drawing.arrow((middle, 470), (middle, 496))
        drawing.label(left, 500, COLUMN, 64, *weights.split())


def _rows(drawing: Drawing, x: float, start: float, stop: float, number: str) -> None:
    """The table as a bar, in which the rows of this replica are hatched."""
    drawing.box(x, 100, COLUMN, 28, round=0)
    drawing.box(x + start * COLUMN, 100, (stop - start) * COLUMN, 28, LINES, round=0)
    drawing.text(x + COLUMN / 2, 146, f"{number} rows")
