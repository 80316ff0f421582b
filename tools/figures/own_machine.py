"""What a VM does from its start to its end."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, STORE, Drawing

STEPS = (
    ("check the driver",),
    ("make the", "environment"),
    ("fetch the code",),
    ("torchrun: one", "process a GPU"),
)


def draw() -> Drawing:
    """Downwards in the middle the steps of the script, on the right the process that waits."""
    drawing = Drawing(
        "What a VM does from its start to its end",
        "Downwards. At the top the request, which has the start-up script in it. On the machine, "
        "in the middle, the script's steps one after the other: check the driver, make the "
        "environment, fetch the code, torchrun with one process for each GPU. On the right a "
        "process beside them that waits for the deadline. Whichever ends first switches the "
        "machine off. On the left the bucket: it gives code and data, and gets results and log.",
        height=640,
    )
    drawing.label(200, 12, 400, 60, "request: machine, GPUs,", "start-up script", fill=DARK)
    drawing.arrow((400, 72), (400, 112))
    drawing.box(170, 116, 458, 412, GROUND)
    drawing.text(400, 144, "the machine", bold=True)
    for number, step in enumerate(STEPS):
        top = 162 + number * 92
        drawing.label(190, top, 210, 64, *step, fill=DARK)
        if number:
            drawing.arrow((295, top - 28), (295, top - 4))
    drawing.label(
        440, 162, 170, 340, "deadline:", "a process that", "waits, and", "ends all", fill=DARK
    )
    drawing.label(8, 330, 120, 172, "bucket:", "code, data,", "results,", "log", fill=STORE)
    drawing.arrow((128, 378), (186, 378))
    drawing.arrow((190, 470), (132, 470))
    drawing.arrow((295, 502), (295, 564))
    drawing.arrow((525, 502), (525, 564))
    drawing.label(200, 568, 400, 60, "the machine is off", fill=DARK)
    return drawing
