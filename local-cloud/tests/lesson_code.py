"""All that these tests take from the lesson beside: its script, its server of models, its table.

The lesson is code as users write it: it is trained, served and deployed here unchanged.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lesson import preparation as preparation
from training import serve_nn as serve_nn
from training import train_nn

LESSON = Path(__file__).parents[2]
TRAINING = LESSON / "training"
SCRIPT = TRAINING / "train_nn.py"
SERVER = TRAINING / "serve_nn.py"
TABLE = LESSON / "data/titanic_train.csv"
TRAINING_IMAGE = LESSON / "tools/image/Dockerfile"
SERVING_IMAGE = LESSON / "tools/image/Dockerfile.serving"
PASSENGERS: list[dict[str, Any]] = [
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


def train(folder: Path) -> Path:
    """Train for three epochs; return the path of the model."""
    data = preparation.prepare(TABLE, folder)
    flags = ["--train", data.train, "--val", data.val, "--epochs", "3"]
    words = [sys.executable, SCRIPT, *flags, "--model_dir", folder / "run"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return folder / "run/model.pt"


def load(weights: Path) -> tuple[torch.nn.Module, dict[str, Any]]:
    """Return the network in model.pt, and what else is in there."""
    saved = torch.load(weights, weights_only=True)
    model = train_nn.build_model(saved["features"], saved["hidden"], seed=1)
    model.load_state_dict(saved["model"])
    return model, saved


def own_predictions(weights: Path) -> tuple[np.ndarray, list[float]]:
    """Return the passengers, prepared, and the probabilities that the model itself gives them."""
    model, saved = load(weights)
    rows = preparation.apply_json(saved["preparation"], PASSENGERS)
    with torch.no_grad():
        return rows, model(torch.from_numpy(rows)).sigmoid()[:, 0].tolist()
