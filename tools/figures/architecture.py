"""The local cloud from above: a request's way through it, and who knows whom."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, WIDTH, Drawing

INNER = WIDTH - 64


def draw() -> Drawing:
    """Downwards: the notebook, the server with its clouds and its platform, the replicas."""
    drawing = Drawing(
        "The local cloud from above",
        "Downwards: a notebook with the helpers and the real SDKs, whose requests go over HTTP on "
        "loopback to the server. In the server, guard.py and server.py come first. From there a "
        "request goes to one of two clouds, side by side: google.py, with the packages vertex, gcs "
        "and resourcemanager, or amazon.py, with sagemaker, s3, logs and iam behind the "
        "dispatcher. Both stand on one platform, service.py: the engine, which runs jobs and "
        "studies, and the store, which holds objects and records. The engine asks a cloud two "
        "things of a job, stage and collect, and starts the replicas: processes that run "
        "train_nn.py.",
        height=870,
    )
    drawing.label(12, 12, WIDTH - 24, 76, "Notebook", "helpers, real SDKs")
    drawing.arrow((WIDTH / 2, 88), (WIDTH / 2, 150))
    drawing.text(WIDTH / 2 + 16, 112, "HTTP on loopback", anchor="start")
    drawing.box(12, 134, WIDTH - 24, 596, GROUND)
    drawing.label(32, 154, INNER, 76, "guard.py, server.py", "may it come in? whose is it?")
    _cloud(drawing, 32, "google.py", "vertex", "gcs", "resourcemanager")
    _cloud(drawing, 328, "amazon.py", "aws: dispatcher", "sagemaker, s3", "logs, iam")
    _platform(drawing)
    drawing.arrow((170, 710), (170, 776))
    drawing.text(186, 752, "starts", anchor="start")
    drawing.label(12, 780, WIDTH - 24, 76, "Replicas", "processes that run train_nn.py")
    return drawing


def _cloud(drawing: Drawing, x: float, name: str, *packages: str) -> None:
    """One cloud, 280 wide, between the guard and the platform."""
    middle = x + 140
    drawing.arrow((middle, 230), (middle, 266))
    drawing.box(x, 270, 280, 140)
    drawing.text(middle, 296, name, bold=True)
    drawing.text(middle, 326, *packages)
    drawing.arrow((middle, 410), (middle, 480), both=True)


def _platform(drawing: Drawing) -> None:
    drawing.text(WIDTH / 2, 432, "stage,", "collect")
    drawing.box(32, 484, INNER, 226)
    drawing.text(WIDTH / 2, 510, "service.py: the platform", bold=True)
    drawing.label(
        48,
        536,
        264,
        158,
        "engine",
        "scheduler, attempts,",
        "replicas, studies,",
        "search",
        fill=DARK,
    )
    drawing.bucket(344, 536, 248, 158)
    drawing.text(468, 602, "store", "objects, records")
