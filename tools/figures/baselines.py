"""The same rows through several models, and all answers in one table."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, STORE, WIDTH, Drawing

MIDDLE = WIDTH / 2
MODELS = ("a rule", "logistic", "your", "a service's"), ("", "regression", "network", "search")
ROWS = (
    ("Autopilot", "0.83", "0.77 to 0.88"),
    ("logistic regression", "0.82", "0.75 to 0.87"),
    ("your network", "0.81", "0.75 to 0.86"),
    ("women survive", "0.78", "0.72 to 0.84"),
)
LEFTS = (32, 180, 328, 476)
BROAD = 132


def draw() -> Drawing:
    """Downwards: the training rows, four models side by side, the test rows, the table."""
    drawing = Drawing(
        "The same rows, several models, one comparison",
        "Downwards. 712 passengers to train with go to four models side by side: a rule, a "
        "logistic regression, your network, and what a service's search finds. Each of them then "
        "answers for the same 179 passengers, which no training has seen. The answers come "
        "together in one table, with the score and its interval, the seconds and the dollars of "
        "each model: Autopilot 0.83, logistic regression 0.82, the network 0.81, and the rule that "
        "women survive 0.78. The intervals overlap.",
        height=568,
    )
    drawing.label(150, 12, 340, 52, "712 passengers to train with", fill=STORE)
    for left, first, second in zip(LEFTS, *MODELS, strict=True):
        middle = left + BROAD / 2
        drawing.arrow((MIDDLE, 64), (MIDDLE, 94), (middle, 94), (middle, 124))
        drawing.label(left, 128, BROAD, 66, *(word for word in (first, second) if word), fill=DARK)
        drawing.arrow((middle, 194), (middle, 254))
    drawing.label(32, 258, 576, 52, "the same 179 passengers, seen by no training", fill=STORE)
    drawing.arrow((MIDDLE, 310), (MIDDLE, 362))
    drawing.text(MIDDLE + 16, 336, "answers", anchor="start")
    drawing.box(32, 366, 576, 190, GROUND)
    drawing.text(MIDDLE, 392, "one table: score, interval, seconds, dollars", bold=True)
    for number, (name, score, interval) in enumerate(ROWS):
        y = 430 + 34 * number
        drawing.text(64, y, name, anchor="start")
        drawing.text(400, y, score, anchor="end")
        drawing.text(576, y, interval, anchor="end")
    return drawing
