"""ML.EVALUATE's numbers, by scikit-learn: bigqueryml-syntax-evaluate#output."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.ml.options import CLASSIFIERS

if TYPE_CHECKING:
    import numpy as np

Numbers = dict[str, float | None]


def evaluate(kind: str, x: np.ndarray, y: np.ndarray | None, *, scores: np.ndarray) -> Numbers:
    """Return all that ML.EVALUATE shows of a model type, at a threshold of 0.5."""
    if kind in CLASSIFIERS:
        assert y is not None
        return of_classes(y, scores)
    if kind == "KMEANS":
        return _of_clusters(x, scores)
    assert y is not None
    return _of_values(y, scores)


def of_classes(y: np.ndarray, probabilities: np.ndarray, threshold: float = 0.5) -> Numbers:
    """y: class numbers. With more than two classes: the mean over the classes."""
    import numpy as np
    from sklearn import metrics

    classes = probabilities.shape[1]
    predicted = predict(probabilities, threshold)
    how: dict[str, Any] = {"zero_division": 0.0}
    how |= {} if classes == 2 else {"average": "macro", "labels": range(classes)}
    chosen = np.clip(probabilities[np.arange(len(y)), y], np.finfo(float).eps, 1)
    return {
        "precision": float(metrics.precision_score(y, predicted, **how)),
        "recall": float(metrics.recall_score(y, predicted, **how)),
        "accuracy": float((y == predicted).mean()),
        "f1_score": float(metrics.f1_score(y, predicted, **how)),
        "log_loss": float(-np.log(chosen).mean()),
        "roc_auc": _area(y, probabilities),
    }


def predict(probabilities: np.ndarray, threshold: float = 0.5) -> np.ndarray:
    """Return the class of each row; the threshold is for two classes only."""
    if probabilities.shape[1] == 2:
        made: np.ndarray = (probabilities[:, 1] > threshold).astype(int)
        return made
    best: np.ndarray = probabilities.argmax(axis=1)
    return best


def _area(y: np.ndarray, probabilities: np.ndarray) -> float | None:
    """Return the area under the ROC curve; None where the rows lack a class."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    classes = probabilities.shape[1]
    if len(np.unique(y)) < classes:
        return None
    if classes == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    return float(np.mean([roc_auc_score(y == i, probabilities[:, i]) for i in range(classes)]))


def _of_values(y: np.ndarray, predicted: np.ndarray) -> Numbers:
    import numpy as np
    from sklearn import metrics

    negative = (y <= -1).any() or (predicted <= -1).any()
    return {
        "mean_absolute_error": float(metrics.mean_absolute_error(y, predicted)),
        "mean_squared_error": float(metrics.mean_squared_error(y, predicted)),
        "mean_squared_log_error": None
        if negative
        else float(((np.log1p(y) - np.log1p(predicted)) ** 2).mean()),
        "median_absolute_error": float(metrics.median_absolute_error(y, predicted)),
        "r2_score": _number(metrics.r2_score(y, predicted)) if len(y) > 1 else None,
        "explained_variance": _number(metrics.explained_variance_score(y, predicted)),
    }


def _of_clusters(x: np.ndarray, distances: np.ndarray) -> Numbers:
    from sklearn.metrics import davies_bouldin_score

    nearest = distances.argmin(axis=1)
    several = 1 < len(set(nearest.tolist())) < len(x)
    return {
        "davies_bouldin_index": float(davies_bouldin_score(x, nearest)) if several else None,
        "mean_squared_distance": float((distances.min(axis=1) ** 2).mean()),
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
