"""What a network has to be better than: the mean fare, and linear regression."""

from __future__ import annotations

import numpy as np

from trainer.rides import Rides


def rmse(predicted: np.ndarray, fares: np.ndarray) -> float:
    """Return the root of the mean squared error, in dollars."""
    return float(np.sqrt(np.mean((predicted - fares) ** 2)))


def _inputs(X: np.ndarray) -> np.ndarray:
    """Return the features, the length of the ride in degrees, and a one for the intercept."""
    length = np.hypot(X[:, 0] - X[:, 2], X[:, 1] - X[:, 3])
    return np.column_stack([X, length, np.ones(len(X))]).astype(np.float64)


def scores(train: Rides, valid: Rides) -> dict[str, float]:
    """Return the error on `valid` of the mean fare and of a linear regression of `train`."""
    weights, *_ = np.linalg.lstsq(_inputs(train.X), train.y, rcond=None)
    return {
        "mean_rmse": rmse(train.y.mean(), valid.y),
        "linear_rmse": rmse(_inputs(valid.X) @ weights, valid.y),
    }
