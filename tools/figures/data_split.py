"""Which rows may be used for what: the split of the passengers, and the table kept for the end."""

from __future__ import annotations

from tools.figures.drawing import DARK, DOTS, GROUND, LINES, WIDTH, Drawing

LEFT, WHOLE = 32, WIDTH - 64
PART = round(WHOLE * 569 / 712)  # as long as its share of the rows
GAP = 8


def draw() -> Drawing:
    """Downwards: the table, its two parts, what is fitted on one of them, and the test."""
    drawing = Drawing(
        "What each row of the tables is used for",
        "Above, the table with 712 passengers. It is split into a long bar, 569 rows for "
        "training, and a short one, 143 for validation. From the training rows alone come the "
        "medians that fill gaps, the list of words, the mean and the scale of each column; these "
        "numbers are used on both parts. The training rows also give the gradients that change "
        "the weights. The validation rows choose the best epoch. At the bottom, in a box apart, "
        "the 179 rows of another file, the test: the finished model is scored on them once.",
        height=636,
    )
    drawing.label(LEFT, 12, WHOLE, 52, "titanic_train.csv: 712 rows")
    short = LEFT + PART + GAP
    training, validation = LEFT + PART / 2, short + (WHOLE - PART - GAP) / 2
    for middle in (training, validation):
        drawing.arrow((middle, 64), (middle, 112))
    drawing.text(WIDTH / 2 + 60, 90, "split")
    drawing.box(LEFT, 116, PART, 28, LINES, round=0)
    drawing.text(training, 164, "569 rows: training", bold=True)
    drawing.box(short, 116, WHOLE - PART - GAP, 28, DOTS, round=0)
    drawing.text(validation, 164, "143 rows:", "validation", bold=True)
    drawing.arrow((LEFT + 110, 184), (LEFT + 110, 222))
    drawing.label(LEFT, 226, 220, 92, "fit: medians, words,", "means, scales", fill=GROUND)
    drawing.arrow((LEFT + 220, 272), (LEFT + 256, 272))
    drawing.text(LEFT + 268, 259, "used on both parts,", "and on the test", anchor="start")
    drawing.arrow((LEFT + 110, 318), (LEFT + 110, 366))
    drawing.label(LEFT, 370, 220, 92, "gradients", "change the weights", fill=DARK)
    drawing.arrow((LEFT + 220, 416), (validation - 100, 416))
    drawing.arrow((validation, 212), (validation, 366))
    drawing.label(validation - 96, 370, 148, 92, "choose the", "best epoch", fill=GROUND)
    drawing.arrow((validation, 462), (validation, 502))
    drawing.label(
        LEFT,
        506,
        WHOLE,
        118,
        "titanic_test.csv: 179 other rows",
        "score the model once, at the end;",
        "nothing is fitted or chosen by them",
    )
    return drawing
