"""A file through batch prediction: lines in, results and errors out, and the join at the end."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, STORE, WIDTH, Drawing

MIDDLE = WIDTH / 2
ROWS = ("passenger 7", "passenger 3, Sex “F”", "passenger 9")


def draw() -> Drawing:
    """Downwards: the file, the job with its machines, two files side by side, the table."""
    drawing = Drawing(
        "A file through batch prediction",
        "Downwards. A file in the bucket has a passenger on each line: 7, 3 with the sex F, and 9. "
        "A job starts machines with the model, sends them the lines, some at a time, and ends "
        "them. It writes two files into the bucket: the results, with passengers 9 and 7 and "
        "their predictions, in any order; and the errors, with passenger 3 and the reason. Last "
        "the results are joined to the rows by the passenger's number: 7 has 0.50, 3 has nothing, "
        "9 has 0.25.",
        height=800,
    )
    drawing.box(150, 12, 340, 132, STORE)
    drawing.text(MIDDLE, 36, "a file in the bucket", bold=True)
    for number, row in enumerate(ROWS):
        drawing.text(190, 66 + 28 * number, row, anchor="start")
    drawing.arrow((MIDDLE, 144), (MIDDLE, 188))
    drawing.box(32, 192, 576, 148, GROUND)
    drawing.text(MIDDLE, 218, "job: its machines start, score, and end", bold=True)
    drawing.label(60, 246, 250, 70, "replica 1: model", "and serve_nn.py", fill=DARK)
    drawing.label(330, 246, 250, 70, "replica 2: model", "and serve_nn.py", fill=DARK)
    drawing.arrow((166, 340), (166, 384))
    drawing.arrow((474, 340), (474, 384))
    for left, title in ((32, "results, in any order"), (340, "errors")):
        drawing.box(left, 388, 268, 130, STORE)
        drawing.text(left + 134, 414, title, bold=True)
    drawing.text(56, 450, "passenger 9: 0.25", anchor="start")
    drawing.text(56, 482, "passenger 7: 0.50", anchor="start")
    drawing.text(364, 450, "passenger 3:", "choose female, male", anchor="start")
    drawing.arrow((166, 518), (166, 592))
    drawing.text(182, 554, "join by the number", anchor="start")
    drawing.arrow((474, 518), (474, 592))
    drawing.text(490, 554, "read", anchor="start")
    drawing.box(32, 596, 576, 192, GROUND)
    drawing.text(MIDDLE, 622, "your table", bold=True)
    for number, (name, chance) in enumerate((("7", "0.50"), ("3", "none"), ("9", "0.25"))):
        drawing.label(150, 644 + 46 * number, 340, 38, f"passenger {name}, probability {chance}")
    return drawing
