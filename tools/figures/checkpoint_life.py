"""A checkpoint's life: written, kept beside one older, read after an interruption, deleted."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, LINES, STORE, WIDTH, Drawing

LEFT, EPOCH = 32, 144  # the left edge, and the width of ten epochs


def draw() -> Drawing:
    """Two attempts, one above the other, with the folder of checkpoints between them."""
    drawing = Drawing(
        "A checkpoint's life",
        "Three parts, downwards. First attempt: a bar of epochs, and a checkpoint after epochs "
        "10, 20 and 30; at epoch 36 the machine is lost. In the middle, the folder of "
        "checkpoints, which has two names: each checkpoint is written under a name that ends in "
        ".pt.part and takes the place of the older one when it is whole; the newest two, after "
        "epochs 20 and 30, are kept. "
        "Second attempt, on another machine: an arrow leads from the checkpoint after epoch 30 to "
        "its start; epochs 31 to 36 are computed again, then the new ones up to 40. The weights "
        "are those of an undisturbed run, and the checkpoints are deleted.",
        height=700,
    )
    drawing.box(12, 12, WIDTH - 24, 176, GROUND)
    drawing.box(12, 226, WIDTH - 24, 192, STORE)
    drawing.box(12, 492, WIDTH - 24, 196, GROUND)
    drawing.text(LEFT, 38, "First attempt", anchor="start", bold=True)
    for number in range(3):
        x = LEFT + number * EPOCH
        drawing.box(x, 64, EPOCH, 44, DARK, round=0)
        drawing.text(x + EPOCH / 2, 86, f"to epoch {10 * (number + 1)}", fill="#ffffff")
        drawing.arrow((x + EPOCH, 108), (x + EPOCH, 256))
    drawing.box(LEFT + 3 * EPOCH, 64, 86, 44, LINES, round=0)
    drawing.text(LEFT + 3 * EPOCH + 43, 134, "to 36:", "lost")
    drawing.text(LEFT, 132, "saves after", "ten epochs", anchor="start")
    _folder(drawing)
    drawing.arrow((LEFT + 3 * EPOCH, 334), (LEFT + 3 * EPOCH, 436), (96, 436), (96, 534))
    drawing.text(LEFT + 82, 464, "the newest whole one is read", anchor="start")
    drawing.text(LEFT + 84, 514, "Second attempt, on another machine", anchor="start", bold=True)
    drawing.box(LEFT, 538, 200, 44, LINES, round=0)
    drawing.text(LEFT + 100, 602, "31 to 36, again")
    drawing.box(LEFT + 200, 538, 150, 44, DARK, round=0)
    drawing.text(LEFT + 275, 560, "37 to 40", fill="#ffffff")
    drawing.arrow((LEFT + 350, 560), (LEFT + 386, 560))
    drawing.label(LEFT + 390, 538, 186, 44, "the same model")
    drawing.text(LEFT, 654, "The checkpoints are deleted at the end.", anchor="start")
    return drawing


def _folder(drawing: Drawing) -> None:
    """Three checkpoints: the third takes the name of the first when it is whole."""
    names = ("1", "0", "1")
    words = ("replaced", "kept", "kept")
    for number, (name, word) in enumerate(zip(names, words, strict=True)):
        middle = LEFT + (number + 1) * EPOCH
        drawing.box(middle - 60, 260, 120, 30, GROUND)
        drawing.text(middle, 275, name)
        drawing.text(middle, 316, word)
    drawing.text(
        LEFT - 4,
        364,
        "checkpoint-0 and checkpoint-1 take turns;",
        "each gets its name when it is whole",
        anchor="start",
    )
