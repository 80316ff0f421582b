"""A trained model in a bucket, and what it says about two passengers."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from google.cloud import storage

from lesson import preparation
from tests.local_cloud.vertex.support import BUCKET
from tests.training.support import train, train_nn
from training import serve_nn

ROOT = Path(__file__).parents[3]
IMAGE = "us-docker.pkg.dev/my-project/images/titanic:1"
PASSENGERS = [
    {
        "Pclass": 1,
        "Sex": "female",
        "Age": 38,
        "SibSp": 1,
        "Parch": 0,
        "Fare": 71.3,
        "Embarked": "C",
    },
    {"Pclass": 3, "Sex": "male", "Age": None, "SibSp": 0, "Parch": 0, "Fare": 7.9, "Embarked": "S"},
]


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
    saved = torch.load(folder / "run/model.pt", weights_only=True)
    model = train_nn.build_model(saved["features"], saved["hidden"], seed=1)
    model.load_state_dict(saved["model"])
    rows = preparation.apply_json(saved["preparation"], PASSENGERS)
    with torch.no_grad():
        expected = model(torch.from_numpy(rows)).sigmoid()[:, 0].tolist()
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
