"""One script in three places: the notebook as a controller, a bucket between it and each job."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, WIDTH, Drawing

SCRIPT = "train_nn.py"


def draw() -> Drawing:
    """This machine above, the two clouds below it."""
    drawing = Drawing(
        "One script in three places",
        "Above, this machine: a notebook that prepares, sends, watches and fetches, and "
        "train_nn.py, which it can start here. Below, two clouds of the same build: Google Cloud "
        "with the bucket gs://lesson and a rented machine of Vertex AI, Amazon with the bucket "
        "s3://lesson and a rented machine of SageMaker. An arrow from the notebook, which sends a "
        "job, goes past the bucket to each rented machine, on which the same train_nn.py runs. "
        "Data go from the notebook into the bucket and from there to the rented machine; results "
        "come back the same way.",
        height=730,
    )
    _this_machine(drawing)
    _cloud(drawing, 12, "Google Cloud", "gs://lesson", "2", "Vertex AI")
    _cloud(drawing, 328, "Amazon", "s3://lesson", "3", "SageMaker")
    return drawing


def _this_machine(drawing: Drawing) -> None:
    drawing.box(12, 12, WIDTH - 24, 210, GROUND)
    drawing.text(32, 54, "This machine", anchor="start", bold=True)
    _script(drawing, 388, 28, "1")
    drawing.arrow((478, 128), (478, 86))
    drawing.text(490, 107, "starts", anchor="start")
    drawing.box(32, 128, WIDTH - 64, 78)
    drawing.text(WIDTH / 2, 154, "Notebook", bold=True)
    drawing.text(WIDTH / 2, 180, "prepares, sends, watches, fetches")


def _script(drawing: Drawing, x: float, y: float, number: str) -> None:
    drawing.box(x, y, 180, 54, DARK)
    drawing.box(x + 8, y + 12, 30, 30, round=15)
    drawing.text(x + 23, y + 27, number, bold=True)
    drawing.text(x + 107, y + 27, SCRIPT, fill="#ffffff")


def _cloud(drawing: Drawing, x: float, owner: str, bucket: str, number: str, service: str) -> None:
    """One cloud, 300 wide: the bucket is on the way of the data, not on that of the job."""
    drawing.box(x, 306, 300, 412, GROUND)
    drawing.text(x + 175, 332, owner, bold=True)
    drawing.arrow((x + 86, 210), (x + 86, 356), both=True)
    drawing.text(x + 98, 252, "data ↓", "results ↑", anchor="start")
    drawing.bucket(x + 20, 360, 132, 98)
    drawing.text(x + 86, 405, "bucket", bucket)
    drawing.arrow((x + 86, 462), (x + 86, 562), both=True)
    drawing.text(x + 98, 500, "data ↓", "results ↑", anchor="start")
    drawing.arrow((x + 264, 210), (x + 264, 562))
    drawing.text(x + 252, 252, "sends", "a job", anchor="end")
    drawing.box(x + 20, 566, 260, 136)
    drawing.text(x + 150, 590, service, bold=True)
    drawing.text(x + 150, 616, "a rented machine")
    _script(drawing, x + 60, 636, number)
