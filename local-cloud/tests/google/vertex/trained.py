"""A trained model in a bucket, and what it says about two passengers."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from google.cloud import storage

from tests.google.vertex.support import BUCKET
from tests.lesson_code import SERVER, own_predictions, train

IMAGE = "us-docker.pkg.dev/my-project/images/titanic:1"


class Trained(NamedTuple):
    uri: str  # of the folder with model.pt
    rows: list[list[float]]  # of the passengers
    expected: list[float]  # the model's own probabilities


def make(folder: Path) -> Trained:
    """Train for three epochs, and put the model into the bucket."""
    weights = train(folder)
    blob = storage.Client().bucket(BUCKET).blob("served/model/model.pt")
    blob.upload_from_filename(weights)
    rows, expected = own_predictions(weights)
    return Trained(f"gs://{BUCKET}/served/model", rows.tolist(), expected)


def upload(aiplatform: ModuleType, trained: Trained, **more: Any) -> Any:
    """A model that serve_nn.py serves."""
    settings = {
        "display_name": "titanic",
        "artifact_uri": trained.uri,
        "serving_container_image_uri": IMAGE,
        "serving_container_command": [sys.executable, str(SERVER)],
    }
    return aiplatform.Model.upload(**settings | more)


def probabilities(predictions: Any) -> list[float]:
    """Those of some predictions."""
    return [each["probability"] for each in predictions]
