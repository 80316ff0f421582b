"""Metrics of predictions, under the names that AutoML's evaluations have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import metrics

CLASSIFICATION, REGRESSION = "classification", "regression"
# metric -> whether a greater value is better
CLASSIFICATION_METRICS = {
    "logLoss": False,
    "auRoc": True,
    "auPrc": True,
    "accuracy": True,
    "balancedAccuracy": True,
    "f1": True,
    "f1Macro": True,
    "precision": True,
    "recall": True,
    "precisionMacro": True,
    "recallMacro": True,
}
REGRESSION_METRICS = {
    "rootMeanSquaredError": False,
    "meanSquaredError": False,
    "meanAbsoluteError": False,
    "meanAbsolutePercentageError": False,
    "rSquared": True,
    "rootMeanSquaredLogError": False,
}
KNOWN = {CLASSIFICATION: CLASSIFICATION_METRICS, REGRESSION: REGRESSION_METRICS}
LOSS = {CLASSIFICATION: "logLoss", REGRESSION: "rootMeanSquaredError"}
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(21))


def of(task: str, truth: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
    """Return all metrics of a task; predictions: probabilities of the classes 0, 1, … or values."""
    if task == REGRESSION:
        return regression(truth, predictions)
    return classification(truth, predictions)


def classification(truth: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """Return metrics of probabilities; truth: the classes' places.

    Areas are micro-averaged over (row, class) pairs; for two classes, auRoc, f1, precision and
    recall are the second one's, for more the last three are weighted means. Macro: plain means.
    """
    classes = probabilities.shape[1]
    wanted, scores = one_hot(truth, classes).ravel(), probabilities.ravel()
    both = truth, probabilities[:, -1]
    labels, best = list(range(classes)), probabilities.argmax(axis=1)
    average = "binary" if classes == 2 else "weighted"
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        truth, best, average=average, labels=labels if classes > 2 else None, zero_division=0.0
    )
    recalls = metrics.recall_score(truth, best, labels=labels, average=None, zero_division=0.0)
    there = np.isin(labels, truth)
    f1s = metrics.f1_score(truth, best, labels=labels, average=None, zero_division=0.0)
    precisions = metrics.precision_score(
        truth, best, labels=labels, average=None, zero_division=0.0
    )
    return {
        "logLoss": float(metrics.log_loss(truth, probabilities, labels=labels)),
        "auRoc": _area(*both) if classes == 2 else _area(wanted, scores),
        "auPrc": float(metrics.average_precision_score(wanted, scores)),
        "accuracy": float((best == truth).mean()),
        "balancedAccuracy": float(recalls[there].mean()),
        "f1": float(f1),
        "f1Macro": float(np.mean(f1s)),
        "precision": float(precision),
        "recall": float(recall),
        "precisionMacro": float(np.mean(precisions)),
        "recallMacro": float(np.mean(recalls)),
    }


def _area(truth: np.ndarray, scores: np.ndarray) -> float:
    """Return the area under the ROC curve; 0 where there is only one class, and so no curve."""
    return float(metrics.roc_auc_score(truth, scores)) if len(set(truth.tolist())) > 1 else 0.0


def regression(truth: np.ndarray, values: np.ndarray) -> dict[str, float]:
    """Return metrics of values; relative ones where the values allow them."""
    squared = float(((truth - values) ** 2).mean())
    errors = {
        "rootMeanSquaredError": squared**0.5,
        "meanSquaredError": squared,
        "meanAbsoluteError": float(np.abs(truth - values).mean()),
        "rSquared": float(metrics.r2_score(truth, values)) if len(truth) > 1 else 0.0,
    }
    if (truth != 0).all():
        errors["meanAbsolutePercentageError"] = float(np.abs((truth - values) / truth).mean() * 100)
    if (truth >= 0).all() and (values > -1).all():
        apart = np.log1p(truth) - np.log1p(values)
        errors["rootMeanSquaredLogError"] = float((apart**2).mean() ** 0.5)
    return errors


def evaluation(
    task: str, truth: np.ndarray, predictions: np.ndarray, *, classes: Sequence[str]
) -> dict[str, Any]:
    """Return the metrics with, for classes, a confusion matrix and a row for each threshold."""
    evaluated: dict[str, Any] = dict(of(task, truth, predictions))
    if task == CLASSIFICATION:
        matrix = metrics.confusion_matrix(
            truth, predictions.argmax(axis=1), labels=list(range(len(classes)))
        )
        evaluated["confusionMatrix"] = {"classes": list(classes), "rows": matrix.tolist()}
        evaluated["thresholds"] = thresholds(one_hot(truth, len(classes)), predictions)
    return evaluated


def multi_label(truth: np.ndarray, probabilities: np.ndarray) -> dict[str, Any]:
    """Return metrics where each row has any number of classes; truth: (rows, classes) of booleans.

    All are micro-averaged over (row, class) pairs. One area is 0 where no pair is true.
    """
    wanted, scores = truth.ravel(), probabilities.ravel()
    both = 0 < wanted.sum() < len(wanted)
    return {
        "logLoss": float(metrics.log_loss(wanted, scores, labels=[False, True])),
        "auRoc": float(metrics.roc_auc_score(wanted, scores)) if both else 0.0,
        "auPrc": float(metrics.average_precision_score(wanted, scores)) if wanted.any() else 0.0,
        "thresholds": thresholds(truth, probabilities),
    }


def thresholds(truth: np.ndarray, probabilities: np.ndarray) -> list[dict[str, float]]:
    """Return counts, precision and recall of (row, class) pairs that reach each threshold."""
    rows = []
    for threshold in THRESHOLDS:
        chosen = probabilities >= threshold
        right, wrong = int((chosen & truth).sum()), int((chosen & ~truth).sum())
        missed, rest = int((~chosen & truth).sum()), int((~chosen & ~truth).sum())
        precision = right / (right + wrong) if right + wrong else 1.0
        recall = right / (right + missed) if right + missed else 0.0
        both = precision + recall
        rows.append(
            {
                "threshold": threshold,
                "precision": precision,
                "recall": recall,
                "f1": 2 * precision * recall / both if both else 0.0,
                "falsePositiveRate": wrong / (wrong + rest) if wrong + rest else 0.0,
                "truePositives": right,
                "falsePositives": wrong,
                "falseNegatives": missed,
                "trueNegatives": rest,
            }
        )
    return rows


def one_hot(truth: np.ndarray, classes: int) -> np.ndarray:
    """Return a row of booleans for each class's place."""
    return np.asarray(np.equal.outer(np.asarray(truth), np.arange(classes)))
