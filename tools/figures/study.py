"""A study: values are chosen, trials run as jobs, and what they report chooses the next values."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, STORE, WIDTH, Drawing

MIDDLES = (166, 474)


def draw() -> Drawing:
    """A circle that is drawn downwards: search, two trials side by side, the table, back."""
    drawing = Drawing(
        "A study and its trials",
        "Downwards. The space: a learning rate from 0.0001 to 0.1, hidden layers and batch "
        "sizes. From it the search chooses values for two trials that run in parallel; each is a "
        "job that starts train_nn.py with the values as flags. Each job reports its validation "
        "loss, and the study writes it into a table of trials. An arrow leads from the table back "
        "up to the search, which chooses the next values by all results so far. When the number of "
        "trials is reached, the trial with the lowest loss is the result.",
        height=744,
    )
    drawing.label(32, 12, 576, 78, "space: learning_rate 0.0001 to 0.1,", "hidden, batch_size")
    drawing.arrow((WIDTH / 2, 90), (WIDTH / 2, 122))
    drawing.label(84, 126, 472, 52, "search: chooses the next values", fill=DARK)
    for number, middle in enumerate(MIDDLES, start=1):
        drawing.arrow((middle, 178), (middle, 256))
        drawing.text(middle + 14, 216, "as flags", anchor="start")
        drawing.box(middle - 124, 260, 248, 116, GROUND)
        drawing.text(middle, 286, f"trial {number}: a job", bold=True)
        drawing.label(middle - 90, 310, 180, 50, "train_nn.py")
        drawing.arrow((middle, 376), (middle, 452))
        drawing.text(middle + 14, 402, "reports", "the loss", anchor="start")
    drawing.box(84, 456, 472, 142, STORE)
    drawing.text(WIDTH / 2, 482, "table of trials", bold=True)
    for row, y in enumerate((518, 548), start=1):
        drawing.text(124, y, f"{row}", anchor="start")
        drawing.text(172, y, ("0.0316, 64,32", "0.0042, 16")[row - 1], anchor="start")
        drawing.text(516, y, ("loss 0.41", "loss 0.39")[row - 1], anchor="end")
    drawing.text(WIDTH / 2, 578, "…")
    drawing.arrow((84, 528), (24, 528), (24, 152), (80, 152))
    drawing.arrow((WIDTH / 2, 598), (WIDTH / 2, 650))
    drawing.text(WIDTH / 2 + 16, 624, "after the last trial", anchor="start")
    drawing.label(84, 654, 472, 78, "result: the values and the model", "of the lowest loss")
    return drawing
