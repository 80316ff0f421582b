"""The way of a request through an endpoint: who asks, which version, which replica."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, WIDTH, Drawing

SIDES = ((166, "old version", "90 %", 2), (474, "new version", "10 %", 1))
MIDDLE = WIDTH / 2


def draw() -> Drawing:
    """Downwards: a program, the endpoint, two versions side by side, their replicas, the bucket."""
    drawing = Drawing(
        "The way of a request through an endpoint",
        "Downwards. A program sends passengers to the endpoint, by its name. The endpoint first "
        "looks whether the sender has permission, and then chooses a version of the model by the "
        "traffic split: 90 % of the requests go to the old version, 10 % to the new one. Each "
        "version has replicas, which are machines with serve_nn.py: the old one has two, the new "
        "one has one, and more are added under load. Each replica has loaded model.pt from the "
        "bucket when it started. The prediction goes back the same way.",
        height=720,
    )
    drawing.label(150, 12, 340, 52, "a program: predict(passengers)")
    drawing.arrow((MIDDLE, 64), (MIDDLE, 104), both=True)
    drawing.text(MIDDLE + 16, 84, "and the answer comes back", anchor="start")
    drawing.box(32, 106, 576, 128, GROUND)
    drawing.text(MIDDLE, 132, "endpoint, a name that stays", bold=True)
    drawing.label(56, 158, 250, 52, "may the sender ask?")
    drawing.arrow((306, 184), (334, 184))
    drawing.label(338, 158, 246, 52, "traffic split", fill=DARK)
    for middle, name, share, count in SIDES:
        drawing.arrow((middle, 234), (middle, 294))
        drawing.text(middle + 14, 264, share, anchor="start", bold=True)
        drawing.box(middle - 134, 298, 268, 230, GROUND)
        drawing.text(middle, 324, name, bold=True)
        for number in range(count):
            drawing.label(
                middle - 114, 348 + 60 * number, 228, 50, f"replica {number + 1}: serve_nn.py"
            )
        drawing.text(middle, 348 + 60 * count + 24, "more under load")
        drawing.arrow((middle, 624), (middle, 532))
    drawing.text(MIDDLE, 578, "at the start")
    drawing.bucket(32, 618, 576, 90)
    drawing.text(MIDDLE, 670, "bucket: model.pt of each version")
    return drawing
