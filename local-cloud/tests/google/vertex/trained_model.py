"""A trained model in a bucket, and what it says about two passengers."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from google.cloud import storage

from tests.google.vertex.support import BUCKET
from tests.lesson_code import TRAINING, own_predictions, train

IMAGE = "us-docker.pkg.dev/my-project/images/titanic:1"
PROGRAMS = ("serve_nn.py", "train_nn.py")  # which answers, and which defines the network
# A container sees no home folder of this machine, where a checkout may be.
SERVE = [
    "python3",
    "-c",
    f"""
import os, runpy, sys, tempfile
from google.cloud.storage import Client

os.chdir(tempfile.mkdtemp())
for name in {PROGRAMS}:
    Client().bucket("{BUCKET}").blob("programs/" + name).download_to_filename(name)
sys.argv = ["serve_nn.py"]
runpy.run_path("serve_nn.py", run_name="__main__")
""",
]


class Trained(NamedTuple):
    uri: str  # of the folder with model.pt
    rows: list[list[float]]  # of the passengers
    expected: list[float]  # the model's own probabilities


def make(folder: Path) -> Trained:
    """Train for three epochs, and put the model into the bucket."""
    weights = train(folder)
    bucket = storage.Client().bucket(BUCKET)
    bucket.blob("served/model/model.pt").upload_from_filename(weights)
    for program in PROGRAMS:
        bucket.blob(f"programs/{program}").upload_from_filename(TRAINING / program)
    rows, expected = own_predictions(weights)
    return Trained(f"gs://{BUCKET}/served/model", rows.tolist(), expected)


def upload(aiplatform: ModuleType, trained: Trained, **more: Any) -> Any:
    """A model that serve_nn.py serves."""
    settings = {
        "display_name": "titanic",
        "artifact_uri": trained.uri,
        "serving_container_image_uri": IMAGE,
        "serving_container_command": SERVE,
    }
    return aiplatform.Model.upload(**settings | more)


def probabilities(predictions: Any) -> list[float]:
    """Those of some predictions."""
    return [each["probability"] for each in predictions]
