"""From a folder to a job: the package is built, uploaded, and run by a chief and a worker."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, STORE, WIDTH, Drawing

MIDDLE = WIDTH / 2


def draw() -> Drawing:
    """Downwards: the folder, the bucket, the job with two pools, the results."""
    drawing = Drawing(
        "From a folder to a job with two worker pools",
        "Downwards. The folder taxifare has pyproject.toml and the folder trainer with "
        "__init__.py, task.py and model.py. It is built to an archive and uploaded to a bucket, "
        "where the shards of the data are too. A job has two worker pools: workerpool0 with the "
        "chief, workerpool1 with a worker on a smaller machine. Both run trainer.task and average "
        "their gradients. The chief writes the model and worker-0, the worker writes worker-1.",
        height=760,
    )
    drawing.box(130, 12, 380, 140, GROUND)
    drawing.text(MIDDLE, 38, "taxifare/", bold=True)
    for number, line in enumerate(("pyproject.toml", "trainer/__init__.py", "trainer/task.py")):
        drawing.text(170, 68 + 28 * number, line, anchor="start")
    drawing.text(490, 124, "trainer/model.py", anchor="end")
    drawing.arrow((MIDDLE, 152), (MIDDLE, 206))
    drawing.text(MIDDLE + 16, 184, "build, upload", anchor="start")
    drawing.box(32, 210, 576, 110, STORE)
    drawing.text(MIDDLE, 236, "bucket", bold=True)
    drawing.text(56, 266, "taxifare/taxifare_trainer-0.1.tar.gz", anchor="start")
    drawing.text(56, 294, "data/taxi-train-000000000000.csv, …", anchor="start")
    drawing.arrow((MIDDLE, 320), (MIDDLE, 364))
    drawing.box(32, 368, 576, 190, GROUND)
    drawing.text(MIDDLE, 394, "job: python -m trainer.task, on each replica", bold=True)
    drawing.label(60, 420, 240, 70, "workerpool0: chief", "n1-standard-8", fill=DARK)
    drawing.label(340, 420, 240, 70, "workerpool1: worker", "n1-standard-4", fill=DARK)
    drawing.text(MIDDLE, 530, "at each step: average the gradients")
    drawing.arrow((180, 558), (180, 612))
    drawing.arrow((460, 558), (460, 612))
    drawing.box(32, 616, 576, 130, STORE)
    drawing.text(MIDDLE, 642, "bucket: runs/two", bold=True)
    drawing.text(56, 674, "model.keras, metrics.json", "worker-0/metrics.json", anchor="start")
    drawing.text(364, 674, "worker-1/metrics.json", anchor="start")
    return drawing
