"""The way of a job's files on SageMaker: by channels into the machine, as one archive out of it."""

from __future__ import annotations

from tools.figures.drawing import DARK, GROUND, WIDTH, Drawing


def draw() -> Drawing:
    """The bucket above and below the machine; the channels lead in, the model leads out."""
    drawing = Drawing(
        "Files of a job on SageMaker",
        "Downwards: in the bucket s3://lesson are the objects data/train_data.npz and "
        "data/val_data.npz. The channel train copies the first and the channel val the second to "
        "the disk of the job's machine before the script starts: the files are in "
        "/opt/ml/input/data/train and /opt/ml/input/data/val. The script train_nn.py reads them "
        "and writes its results to /opt/ml/model. When the script has ended, SageMaker packs that "
        "folder as model.tar.gz and uploads it to the bucket.",
        height=770,
    )
    drawing.bucket(12, 12, WIDTH - 24, 130)
    drawing.text(WIDTH / 2, 56, "bucket s3://lesson", bold=True)
    drawing.box(12, 236, WIDTH - 24, 360, GROUND)
    drawing.text(WIDTH / 2, 260, "the job's machine", bold=True)
    for middle, channel in ((166, "train"), (474, "val")):
        drawing.text(middle, 100, f"data/{channel}_data.npz")
        drawing.arrow((middle, 124), (middle, 280))
        drawing.text(middle + 14, 170, f"channel {channel}:", "copied first", anchor="start")
        drawing.label(
            middle - 138, 284, 276, 78, "/opt/ml/input/data/", f"{channel}/{channel}_data.npz"
        )
        drawing.arrow((middle, 362), (middle, 398))
    drawing.label(28, 402, WIDTH - 56, 52, "train_nn.py", fill=DARK)
    drawing.arrow((WIDTH / 2, 454), (WIDTH / 2, 502))
    drawing.label(180, 506, 280, 78, "/opt/ml/model/", "model.pt, metrics.json, …")
    drawing.arrow((WIDTH / 2, 584), (WIDTH / 2, 654))
    drawing.text(WIDTH / 2 + 16, 624, "packed at the end", anchor="start")
    drawing.bucket(12, 658, WIDTH - 24, 100)
    drawing.text(WIDTH / 2, 714, "s3://lesson/…/output/model.tar.gz")
    return drawing
