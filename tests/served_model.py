"""Passengers to ask a served model about, and what the model itself says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from lesson import preparation
from tests.training.support import train_nn

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


def own_predictions(
    weights: Path, passengers: list[dict[str, Any]] = PASSENGERS
) -> tuple[np.ndarray, list[float]]:
    """The passengers, prepared, and the probabilities that the model in model.pt gives them."""
    saved = torch.load(weights, weights_only=True)
    model = train_nn.build_model(saved["features"], saved["hidden"], seed=1)
    model.load_state_dict(saved["model"])
    rows = preparation.apply_json(saved["preparation"], passengers)
    with torch.no_grad():
        return rows, model(torch.from_numpy(rows)).sigmoid()[:, 0].tolist()
