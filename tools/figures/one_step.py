"""The time of one step with one, two and four replicas: what is divided, and what is not."""

from __future__ import annotations

from tools.figures.drawing import DARK, DOTS, GROUND, LINES, PAPER, WIDTH, Drawing

LEFT, SHARED, START, EXCHANGE = 32, 320, 80, 110  # the widths stand for times
KEYS = (
    (DARK, "shared: rows times weights, divided"),
    (LINES, "start: all layers and all weights, each time"),
    (DOTS, "exchange: one number for each weight"),
)


def draw() -> Drawing:
    """Three panels, one bar a panel, above each other so that the lengths can be compared."""
    drawing = Drawing(
        "The parts of a step",
        "Three bars above each other; their lengths are times. One replica: a long shared part and "
        "a short start. Two replicas: half the shared part, the same start, and an exchange, which "
        "one replica does not have. Four replicas: a quarter of the shared part, the same start "
        "and the same exchange. The bar becomes shorter each time, but not by half, and is never "
        "shorter than start and exchange together. Below, a key explains the three parts.",
        height=558,
    )
    for number, title in enumerate(("One replica", "Two replicas, each", "Four replicas, each")):
        _bar(drawing, 12 + number * 134, title, 2**number)
    for number, (fill, words) in enumerate(KEYS):
        middle = 436 + number * 46
        drawing.box(LEFT, middle - 14, 28, 28, fill, round=0)
        drawing.text(LEFT + 44, middle, words, anchor="start")
    return drawing


def _bar(drawing: Drawing, top: float, title: str, replicas: int) -> None:
    """One panel: the parts of a step of each replica, one after the other."""
    drawing.box(12, top, WIDTH - 24, 122, GROUND)
    drawing.text(LEFT, top + 22, title, anchor="start", bold=True)
    parts = [("shared", SHARED / replicas, DARK), ("start", START, LINES)]
    if replicas > 1:
        parts.append(("exchange", EXCHANGE, DOTS))
    left = float(LEFT)
    for word, width, fill in parts:
        drawing.text(left + width / 2, top + 50, word)
        drawing.box(left, top + 66, width, 42, fill, round=0)
        left += width
    rows = {1: "569 rows", 2: "285 rows", 4: "143"}[replicas]
    drawing.text(LEFT + SHARED / replicas / 2, top + 87, rows, fill=PAPER)
