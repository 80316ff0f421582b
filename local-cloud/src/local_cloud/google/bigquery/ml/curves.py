"""ML.CONFUSION_MATRIX and ML.ROC_CURVE: bigqueryml-syntax-confusion, -roc."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import invalid_query
from local_cloud.google.bigquery.ml import metrics
from local_cloud.google.bigquery.ml.calls import Call, classify, threshold
from local_cloud.google.bigquery.ml.options import CLASSIFIERS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def confusion_matrix(asked: Call) -> pa.Table:
    """ML.CONFUSION_MATRIX."""
    import numpy as np
    import pyarrow as pa

    model = asked.model
    model.require("CONFUSION_MATRIX", CLASSIFIERS)
    y, scores = classify(asked)
    count = len(model.classes)
    pairs = y * count + metrics.predict(scores, threshold(asked))
    matrix = np.bincount(pairs, minlength=count * count).reshape(count, count)
    columns: dict[str, Any] = {"expected_label": model.class_values(np.arange(count))}
    for number, value in enumerate(model.classes):
        columns[_column_name(value, set(columns))] = matrix[:, number]
    return pa.table(columns)


def _column_name(value: Any, taken: set[str]) -> str:
    """Return a label as a column's name."""
    text = str(value).upper() if isinstance(value, bool) else str(value)
    name = re.sub(r"\W", "_", text) or "_"
    name = name[:280] if re.match(r"[^\W\d]", name) else f"_{name}"[:280]
    made, number = name, 1
    while made.lower() in {one.lower() for one in taken}:
        made, number = f"{name}_{number}", number + 1
    return made


def roc_curve(asked: Call) -> pa.Table:
    """ML.ROC_CURVE."""
    import numpy as np
    import pyarrow as pa

    model = asked.model
    model.require("ROC_CURVE", CLASSIFIERS)
    if len(model.classes) != 2:
        raise invalid_query("ML.ROC_CURVE is for models with two classes.")
    y, scores = classify(asked)
    positive = scores[:, 1]
    if asked.settings:
        thresholds = _thresholds(asked.settings)
    else:
        thresholds = np.unique(np.quantile(positive, np.linspace(0, 1, 101)))[::-1]
    order = np.sort(positive[y == 1]), np.sort(positive[y == 0])
    # how many of each class are at the threshold or above it
    true, false = (len(one) - np.searchsorted(one, thresholds) for one in order)
    counts = [len(one) for one in order]
    with np.errstate(invalid="ignore", divide="ignore"):
        recall, rate = true / counts[0], false / counts[1]
    return pa.table(
        {
            "threshold": pa.array(thresholds, pa.float64()),
            "recall": recall,
            "false_positive_rate": rate,
            "true_positives": true,
            "false_positives": false,
            "true_negatives": counts[1] - false,
            "false_negatives": counts[0] - true,
        }
    )


def _thresholds(settings: Any) -> np.ndarray:
    import numpy as np

    numbers = isinstance(settings, list) and all(type(one) in (int, float) for one in settings)
    if not numbers or not 0 < len(settings) <= 100_000:
        raise invalid_query("ML.ROC_CURVE takes an array of thresholds, as GENERATE_ARRAY makes.")
    return np.array(settings, dtype=float)
