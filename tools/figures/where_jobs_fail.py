"""Where a job can fail, from its request to its end."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, STORE, Drawing

ROWS = (
    (
        ("the request", "is checked"),
        ("no quota", "role not assumable"),
        ("the error", "of the call"),
    ),
    (("the machines", "start"), ("slow provisioning",), ("the state", "of the job")),
    (
        ("image, data", "are loaded"),
        ("image retired", "bucket in another region"),
        ("the failure", "reason"),
    ),
    (
        ("the script", "runs"),
        ("out of memory", "lost worker, spot stop", "wrong metric tag"),
        ("the log", "of the replica"),
    ),
)


def draw() -> Drawing:
    """Draw the stages downwards; beside each one its failures, and what to read."""
    drawing = Drawing(
        "Where a job can fail",
        "Downwards, the stages of a job: the request is checked, the machines start, the image and "
        "the data are loaded, the script runs. Beside each stage are its failures: no quota and a "
        "role that cannot be assumed; slow provisioning; a retired image and a bucket in another "
        "region; out of memory, a lost worker, a spot stop, a wrong metric tag. On the "
        "right, what to read: the error of the call, the state of the job, its failure reason, the "
        "log of the replica.",
        height=468,
    )
    for number, (place, failures, read) in enumerate(ROWS):
        top = 12 + number * 116
        drawing.label(12, top, 160, 92, *place, fill=DARK)
        if number:
            drawing.arrow((92, top - 22), (92, top - 4))
        drawing.label(190, top, 270, 92, *failures, fill=GROUND)
        drawing.label(478, top, 150, 92, *read, fill=STORE)
    return drawing
