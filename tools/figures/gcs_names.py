"""One object of a bucket on Google Cloud, and the name under which each reader finds it."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, WIDTH, Drawing

LEFT, RIGHT, PANEL = 12, 328, 300


def draw() -> Drawing:
    """Above the bucket, below it on the left this machine and on the right a job's machine."""
    drawing = Drawing(
        "One object, three names",
        "Above, a bucket called lesson that holds the object data/train_data.npz. Below, two "
        "machines. On the left, this machine: the notebook's SDK uploads the file "
        "runs/data/train_data.npz and downloads it by the URI gs://lesson/data/train_data.npz; an "
        "arrow with two heads joins it to the bucket. On the right, the machine of a job on Vertex "
        "AI: the bucket appears there as the folder /gcs/lesson, and the script opens "
        "/gcs/lesson/data/train_data.npz as a file. On this machine there is no folder /gcs.",
        height=578,
    )
    drawing.bucket(120, 12, 400, 110)
    drawing.text(WIDTH / 2, 62, "bucket lesson", bold=True)
    drawing.text(WIDTH / 2, 90, "object data/train_data.npz")
    _machine(drawing, LEFT, "This machine", "the SDK of", "the notebook")
    drawing.text(LEFT + PANEL / 2 + 16, 156, "uploads,", "downloads", anchor="start")
    drawing.arrow((LEFT + PANEL / 2, 122), (LEFT + PANEL / 2, 210), both=True)
    _name(drawing, LEFT, 372, "the object's URI", "gs://lesson/", "data/train_data.npz")
    _name(drawing, LEFT, 472, "the file", "runs/", "data/train_data.npz")
    _machine(drawing, RIGHT, "A job on Vertex AI", "train_nn.py, or", "any program")
    drawing.text(RIGHT + PANEL / 2 + 16, 156, "appears", "as a folder", anchor="start")
    drawing.arrow((RIGHT + PANEL / 2, 122), (RIGHT + PANEL / 2, 210))
    _name(drawing, RIGHT, 372, "the object as a file", "/gcs/lesson/", "data/train_data.npz")
    return drawing


def _machine(drawing: Drawing, x: float, title: str, *reader: str) -> None:
    """A machine, and the program on it that reads."""
    drawing.box(x, 214, PANEL, 352, GROUND)
    drawing.text(x + PANEL / 2, 238, title, bold=True)
    drawing.label(x + 20, 266, PANEL - 40, 78, *reader, fill=DARK)


def _name(drawing: Drawing, x: float, y: float, what: str, *name: str) -> None:
    drawing.label(x + 20, y - 16, PANEL - 40, 90, f"{what}:", *name)
