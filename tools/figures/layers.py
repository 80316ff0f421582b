"""Two layers shared out between two replicas: columns of the first, rows of the second."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, LINES, WIDTH, Drawing

LEFT, RIGHT, PANEL = 12, 328, 300


def draw() -> Drawing:
    """Downwards: the rows, the first layer, its neurons, the second layer, the sum."""
    drawing = Drawing(
        "Two layers, shared out between two replicas",
        "Two panels side by side, replica 0 and replica 1; both begin with all 569 rows. Replica 0 "
        "holds the left columns of the weights W1 of the first layer, replica 1 the right ones, "
        "and each computes 256 neurons with their ReLU. Then replica 0 holds the upper rows of the "
        "weights W2 of the second layer, replica 1 the lower ones, and each computes its part of "
        "the sums. Both parts lead into one bar across the panels, in which they are added up in "
        "the middle of every step, and from it the whole output leads back to both.",
        height=716,
    )
    halves = ("left", "upper", 0), ("right", "lower", 1)
    for number, (x, (columns, rows, second)) in enumerate(zip((LEFT, RIGHT), halves, strict=True)):
        drawing.box(x, 12, PANEL, 692, GROUND)
        middle = x + PANEL / 2
        drawing.text(middle, 38, f"Replica {number}", bold=True)
        _box(drawing, x, 62, "all 569 rows")
        _matrix(drawing, x, 140, (second * 58, 0, 58, 44), 44, f"{columns} half", "of W1")
        _box(drawing, x, 218, "256 neurons, ReLU")
        _matrix(drawing, x, 296, (0, second * 58, 116, 58), 116, f"{rows} half", "of W2")
        _box(drawing, x, 446, "its part of the sums")
        for top, bottom in ((106, 136), (184, 214), (262, 292), (412, 442), (490, 520), (612, 642)):
            drawing.arrow((x + 78, top), (x + 78, bottom))
        _box(drawing, x, 646, "the whole output")
    drawing.label(
        LEFT + 20, 524, WIDTH - 64, 84, "added up,", "in the middle of every step", fill=DARK
    )
    return drawing


def _box(drawing: Drawing, x: float, y: float, words: str) -> None:
    drawing.label(x + 20, y, PANEL - 40, 40, words)


def _matrix(
    drawing: Drawing,
    x: float,
    y: float,
    own: tuple[float, float, float, float],
    height: float,
    *words: str,
) -> None:
    """All weights of a layer; those that the replica holds are hatched."""
    left, top, width, tall = own
    drawing.box(x + 20, y, 116, height, round=0)
    drawing.box(x + 20 + left, y + top, width, tall, LINES, round=0)
    drawing.text(x + 152, y + height / 2 - 13, *words, anchor="start")
