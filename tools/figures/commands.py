"""Four programs and two SDKs, one API of each cloud, and one job."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, STORE, WIDTH, Drawing

MIDDLE = WIDTH / 2


def draw() -> Drawing:
    """Downwards: the ways to send a request, the service's API, and what it records."""
    drawing = Drawing(
        "Several ways to the same request",
        "Downwards. At the top a notebook with the SDK, a terminal with gcloud or aws, and a file, "
        "config.yaml or job.json, which the notebook writes and the terminal reads. Both send "
        "the same request to the service's API. Below it are the job that the request makes, and "
        "the bucket with the data and the code. Either way lists the job, whoever sent it.",
        height=520,
    )
    drawing.box(32, 12, 256, 110, GROUND)
    drawing.text(160, 40, "notebook", bold=True)
    drawing.label(56, 58, 208, 48, "SDK: train(…)", fill=DARK)
    drawing.box(352, 12, 256, 110, GROUND)
    drawing.text(480, 40, "terminal", bold=True)
    drawing.label(376, 58, 208, 48, "gcloud, aws", fill=DARK)
    drawing.label(220, 172, 200, 60, "config.yaml", "or job.json", fill=STORE)
    drawing.arrow((262, 122), (262, 168))
    drawing.text(250, 150, "write_job", anchor="end")
    drawing.arrow((378, 172), (378, 126))
    drawing.text(392, 150, "is read by", anchor="start")
    drawing.arrow((100, 122), (100, 286))
    drawing.arrow((540, 122), (540, 286))
    drawing.box(32, 290, 576, 60, GROUND)
    drawing.text(MIDDLE, 326, "the service's API: the same request", bold=True)
    drawing.arrow((180, 350), (180, 414))
    drawing.text(196, 388, "creates, lists, cancels", anchor="start")
    drawing.arrow((460, 350), (460, 414))
    drawing.text(476, 388, "copies files", anchor="start")
    drawing.text(80, 210, "request", anchor="end")
    drawing.text(560, 210, "request", anchor="start")
    drawing.label(64, 418, 232, 80, "one job, in", "everybody's list", fill=DARK)
    drawing.label(344, 418, 232, 80, "bucket: data,", "code, results", fill=STORE)
    return drawing
