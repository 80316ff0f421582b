"""How good the defaults are on the real passenger list; skipped where it is not at hand."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder, StandardScaler

from lesson.preparation import FEATURES
from tests.training.support import inside

SEEDS = range(5)


@pytest.fixture(scope="module")
def prepared_as_in_the_older_lesson(
    real_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Scaled before the split, as the lessons this one grew from do it: their numbers compare."""
    passengers = pd.read_csv(real_folder / "titanic_train.csv")
    passengers["Embarked"] = passengers["Embarked"].fillna("S")
    for column in ("Age", "Fare"):
        passengers[column] = passengers[column].fillna(passengers[column].median())
    for column in ("Sex", "Embarked"):
        passengers[column] = LabelEncoder().fit_transform(passengers[column])
    X = StandardScaler().fit_transform(passengers[list(FEATURES)].to_numpy(dtype=float))
    y = passengers["Survived"].to_numpy()
    X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=42)
    folder = tmp_path_factory.mktemp("real")
    np.savez(folder / "train.npz", X_train=X_train, y_train=y_train)
    np.savez(folder / "val.npz", X_val=X_val, y_val=y_val)
    return {"train": folder / "train.npz", "val": folder / "val.npz"}


def test_the_defaults_reach_the_older_lessons_accuracy(
    prepared_as_in_the_older_lesson: dict[str, Path], tmp_path: Path
) -> None:
    archives = [f"--{part}={path}" for part, path in prepared_as_in_the_older_lesson.items()]
    accuracies = []
    for seed in SEEDS:
        assert inside(*archives, "--seed", seed, "--model_dir", tmp_path).code == 0
        accuracies.append(json.loads((tmp_path / "metrics.json").read_text())["accuracy"])
    print("validation accuracy by seed:", [round(accuracy, 3) for accuracy in accuracies])
    assert statistics.median(accuracies) >= 0.79
    assert min(accuracies) >= 0.76
