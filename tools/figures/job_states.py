"""What happens to a job: time goes down, both clouds' words side by side, and the run's seconds."""

from __future__ import annotations

from tools.figures.drawing import DARK, DOTS, GROUND, LINES, PAPER, Drawing

LINE_OF_TIME, EVENT = 24, 52  # the columns, each with its left edge or its middle
VERTEX, SAGEMAKER, WORDS = 198, 348, 142
STRIP, SECONDS = 504, 536
ROWS = (78, 174, 244, 314, 384, 454)  # where each step begins, and where the last one ends
ENDS = (502, 576, 650)  # the middles of the three ways to end
CELL = 4  # half of the gap between two cells


def draw() -> Drawing:
    """Five steps that take time, then the three ways in which a job ends."""
    drawing = Drawing(
        "What happens to a job",
        "A table in which time goes down. First a machine is found and made ready: Vertex AI calls "
        "this QUEUED, then PENDING, SageMaker Starting and Pending, and the run table counts it as "
        "queued. Then the data arrive (SageMaker: Downloading), Python and PyTorch start and the "
        "network is trained (SageMaker: Training), and the results are saved (SageMaker: "
        "Uploading); Vertex AI calls all of this RUNNING. The run table counts the loop over "
        "the epochs as training, and what is before and after them as starting. A job that ends "
        "well is SUCCEEDED or Completed, one that fails on the way FAILED or Failed, one that is "
        "stopped on the way CANCELLING, then CANCELLED, or Stopping, then Stopped.",
        height=694,
    )
    drawing.text(LINE_OF_TIME - 10, 26, "What", "happens", anchor="start", bold=True)
    drawing.text(VERTEX + WORDS / 2, 52, "Vertex AI", bold=True)
    drawing.text(SAGEMAKER + WORDS / 2, 52, "SageMaker", bold=True)
    drawing.text(STRIP, 26, "Run table", "counts as", anchor="start", bold=True)
    _steps(drawing)
    _ends(drawing)
    return drawing


def _steps(drawing: Drawing) -> None:
    """The steps that take time; the words of the two services do not change at the same ones."""
    drawing.path(f"M{LINE_OF_TIME},{ROWS[0]} L{LINE_OF_TIME},{ENDS[-1]}")
    _event(drawing, 0, "a machine", "is found and", "made ready")
    _event(drawing, 1, "the data", "arrive")
    _event(drawing, 2, "Python and", "PyTorch start")
    _event(drawing, 3, "the network", "is trained")
    _event(drawing, 4, "the results", "are saved")
    _state(drawing, VERTEX, 0, 1, "QUEUED", "PENDING")
    _state(drawing, VERTEX, 1, 5, "RUNNING")
    _state(drawing, SAGEMAKER, 0, 1, "Starting", "Pending")
    _state(drawing, SAGEMAKER, 1, 2, "Downloading")
    _state(drawing, SAGEMAKER, 2, 4, "Training")
    _state(drawing, SAGEMAKER, 4, 5, "Uploading")
    _seconds(drawing, 0, 1, "queued", DOTS)
    _seconds(drawing, 1, 3, "starting", LINES)
    _seconds(drawing, 3, 4, "training", DARK)
    _seconds(drawing, 4, 5, "starting", LINES)


def _event(drawing: Drawing, row: int, *lines: str) -> None:
    middle = (ROWS[row] + ROWS[row + 1]) / 2
    drawing.box(LINE_OF_TIME - 7, middle - 7, 14, 14, round=7)
    drawing.text(EVENT, middle - (len(lines) - 1) * 13, *lines, anchor="start")


def _state(drawing: Drawing, x: float, first: int, last: int, *words: str) -> None:
    """A cell from the beginning of one step to that of another."""
    top, bottom = ROWS[first] + CELL, ROWS[last] - CELL
    drawing.label(x, top, WORDS, bottom - top, *words, fill=GROUND)


def _seconds(drawing: Drawing, first: int, last: int, word: str, fill: str) -> None:
    top, bottom = ROWS[first] + CELL, ROWS[last] - CELL
    drawing.box(STRIP, top, 22, bottom - top, fill, round=0)
    drawing.text(SECONDS, (top + bottom) / 2, word, anchor="start")


def _ends(drawing: Drawing) -> None:
    """Branches of the line of time, and the words for each."""
    ends = (
        (("ends well",), ("SUCCEEDED",), ("Completed",)),
        (("or fails", "on the way"), ("FAILED",), ("Failed",)),
        (("or is stopped", "on the way"), ("CANCELLING", "CANCELLED"), ("Stopping", "Stopped")),
    )
    for middle, (event, vertex, sagemaker) in zip(ENDS, ends, strict=True):
        drawing.arrow((LINE_OF_TIME, middle), (EVENT - 6, middle))
        drawing.text(EVENT, middle - (len(event) - 1) * 13, *event, anchor="start")
        for x, words in ((VERTEX, vertex), (SAGEMAKER, sagemaker)):
            drawing.label(x, middle - 32, WORDS, 64, *words, fill=PAPER)
