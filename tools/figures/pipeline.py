"""The lesson's pipeline: tasks, what goes from one to the next, and the condition."""

from __future__ import annotations

from tools.figures.drawing import DARK, STORE, WIDTH, Drawing

MIDDLE = WIDTH / 2
LEFT = 150


def draw() -> Drawing:
    """Downwards: each task and what it makes, then the condition's two ways."""
    drawing = Drawing(
        "The pipeline of this lesson",
        "Downwards. The table, a parameter, goes into the task prepare, which makes the artifact "
        "data. The task train reads data and makes the artifact model. The task evaluate reads "
        "data and model and makes the parameter accuracy, 0.82. A condition asks whether the "
        "accuracy is greater than better_than. If it is, the task deploy takes the model and makes "
        "an endpoint; if it is not, nothing more runs. Tasks are dark, artifacts are in a bucket.",
        height=812,
    )
    drawing.text(LEFT, 30, "table, code: parameters")
    drawing.arrow((LEFT, 44), (LEFT, 78))
    rows = (
        (82, "task: prepare", "artifact: data"),
        (262, "task: train", "artifact: model"),
    )
    for y, task, artifact in rows:
        drawing.label(32, y, 236, 50, task, fill=DARK)
        drawing.arrow((LEFT, y + 50), (LEFT, y + 86))
        drawing.label(32, y + 90, 236, 50, artifact, fill=STORE)
        drawing.arrow((LEFT, y + 140), (LEFT, y + 176))
    drawing.text(286, 112, "each task is a job", anchor="start")
    drawing.text(286, 292, "args: parameter", anchor="start")
    drawing.label(32, 442, 236, 50, "task: evaluate", fill=DARK)
    drawing.arrow((268, 197), (560, 197), (560, 467), (272, 467))
    drawing.text(544, 440, "data, too", anchor="end")
    drawing.arrow((LEFT, 492), (LEFT, 532))
    drawing.text(LEFT + 14, 514, "accuracy 0.82: parameter", anchor="start")
    drawing.label(32, 536, 400, 54, "condition: accuracy > better_than?")
    drawing.arrow((LEFT, 590), (LEFT, 650))
    drawing.text(LEFT + 14, 622, "yes", anchor="start")
    drawing.arrow((396, 590), (396, 650))
    drawing.text(410, 622, "no", anchor="start")
    drawing.label(32, 654, 236, 50, "task: deploy", fill=DARK)
    drawing.text(396, 676, "nothing more runs")
    drawing.arrow((LEFT, 704), (LEFT, 746))
    drawing.text(LEFT, 776, "endpoint: it bills", bold=True)
    return drawing
