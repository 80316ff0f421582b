"""A trained model in a bucket, and what it says about two passengers."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from google.cloud import storage

from lesson import preparation
from tests.local_cloud.google.vertex.support import BUCKET
from tests.served_model import own_predictions
from tests.training.support import train
from training import serve_nn

ROOT = Path(__file__).parents[4]
IMAGE = "us-docker.pkg.dev/my-project/images/titanic:1"


class Trained(NamedTuple):
    uri: str  # of the folder with model.pt
    rows: list[list[float]]  # of the passengers
    expected: list[float]  # the model's own probabilities


def make(folder: Path) -> Trained:
    """Train for three epochs, and put the model into the bucket."""
    data = preparation.prepare(ROOT / "data/titanic_train.csv", folder)
    assert train(data.train, folder / "run", "--epochs", 3, "--val", data.val).code == 0
    blob = storage.Client().bucket(BUCKET).blob("served/model/model.pt")
    blob.upload_from_filename(folder / "run/model.pt")
    rows, expected = own_predictions(folder / "run/model.pt")
    return Trained(f"gs://{BUCKET}/served/model", rows.tolist(), expected)


def upload(aiplatform: ModuleType, trained: Trained, **more: Any) -> Any:
    """A model that serve_nn.py serves."""
    settings = {
        "display_name": "titanic",
        "artifact_uri": trained.uri,
        "serving_container_image_uri": IMAGE,
        "serving_container_command": [sys.executable, serve_nn.__file__],
    }
    return aiplatform.Model.upload(**settings | more)


def probabilities(predictions: Any) -> list[float]:
    """Those of some predictions."""
    return [each["probability"] for each in predictions]
