"""ML's functions over a model and a table, each with the columns that BigQuery ML documents.

bigqueryml-syntax-predict, -evaluate, -explain-predict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented
from local_cloud.google.bigquery.ml import (
    curves,
    information,
    labels,
    metrics,
    preparation,
    weights,
)
from local_cloud.google.bigquery.ml.calls import (
    Call,
    classify,
    lists,
    some,
    threshold,
    with_label,
)
from local_cloud.google.bigquery.ml.model import Model
from local_cloud.google.bigquery.ml.options import LINEAR

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


# function -> its settings
SETTINGS = {
    "PREDICT": {"threshold"},
    "EVALUATE": {"threshold"},
    "CONFUSION_MATRIX": {"threshold"},
    "EXPLAIN_PREDICT": {"threshold", "top_k_features"},
    "WEIGHTS": {"standardize"},
    "CENTROIDS": {"standardize"},
    "GLOBAL_EXPLAIN": {"class_level_explain"},
}
WITH_TABLE = {"PREDICT", "EVALUATE", "EXPLAIN_PREDICT", "CONFUSION_MATRIX", "ROC_CURVE"}


def call(function: str, asked: Call) -> pa.Table:
    """Return the table that ML.FUNCTION returns. Raises Problem."""
    if asked.table is not None and function not in WITH_TABLE:
        raise invalid_query(f"ML.{function} takes a model only, and no table.")
    if isinstance(asked.settings, dict):
        asked.settings = {name.lower(): value for name, value in asked.settings.items()}
        if strangers := set(asked.settings) - SETTINGS.get(function, set()):
            raise not_implemented(f"setting {min(strangers)} of ML.{function}")
    elif function != "ROC_CURVE":
        raise invalid_query(f"The last argument of ML.{function} must be a STRUCT.")
    return CALLS[function](asked)


def _predict(asked: Call) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    model, rows, limit = asked.model, asked.rows, threshold(asked)
    scores = model.score(rows, asked.check)
    if model.kind == "PCA":
        columns = {f"principal_component_{i + 1}": one for i, one in enumerate(scores.T)}
    elif model.kind == "KMEANS":
        columns = {
            "CENTROID_ID": scores.argmin(axis=1) + 1,
            "NEAREST_CENTROIDS_DISTANCE": _nearest(scores),
        }
    elif model.classifies:
        numbers = metrics.predict(scores, limit)
        columns = {
            f"predicted_{model.label}": model.class_values(numbers),
            f"predicted_{model.label}_probs": _probabilities(model, scores),
        }
    else:
        columns = {f"predicted_{model.label}": np.asarray(scores)}
    return _beside({name: pa.array(one) for name, one in columns.items()}, rows)


def _nearest(distances: np.ndarray) -> pa.Array:
    import numpy as np

    order = np.argsort(distances, axis=1, kind="stable")
    nearest = np.take_along_axis(distances, order, axis=1)
    fields = {"CENTROID_ID": (order + 1).ravel(), "DISTANCE": nearest.ravel()}
    return lists(distances.shape[1], fields)


def _probabilities(model: Model, probabilities: np.ndarray) -> pa.Array:
    """Return the probabilities, the largest label first, as the service has it."""
    import numpy as np

    count = len(model.classes)
    order = np.tile(np.arange(count)[::-1], len(probabilities))
    fields = {"label": model.class_values(order), "prob": probabilities[:, ::-1].ravel()}
    return lists(count, fields)


def _beside(columns: dict[str, pa.Array], rows: pa.Table) -> pa.Table:
    """Return new columns, then those of the input."""
    import pyarrow as pa

    lower = {name.lower() for name in columns}
    for name in rows.column_names:
        if name.lower() in lower:
            raise invalid_query(f"The input already has a column {name}; rename it.")
    names = [*columns, *rows.column_names]
    return pa.table([*columns.values(), *rows.columns], names=names)


def _evaluate(asked: Call) -> pa.Table:
    model = asked.model
    if asked.table is None and "threshold" not in asked.settings:
        return _row(model.document["evaluation"])
    if model.classifies:
        y, scores = classify(asked)
        return _row(metrics.of_classes(y, scores, threshold(asked)))
    threshold(asked)  # refuses one
    if model.kind == "PCA":
        raise not_implemented("ML.EVALUATE of a PCA model with other rows than its own")
    return _row(_measure(asked))


def _measure(asked: Call) -> metrics.Numbers:
    """Return a regressor's or a clustering's numbers for the input's rows."""
    model, rows = asked.model, asked.rows
    y: np.ndarray | None = None
    if model.kind != "KMEANS":
        rows = with_label(model, rows)
        y = labels.targets(rows, model.document["label"])
    some(rows)
    x = preparation.matrix(rows, model.features)
    return metrics.evaluate(model.kind, x, y, scores=model.score(rows, asked.check))


def _row(numbers: dict[str, float | None]) -> pa.Table:
    import pyarrow as pa

    return pa.table({name: pa.array([one], pa.float64()) for name, one in numbers.items()})


def _explain_predict(asked: Call) -> pa.Table:
    asked.model.require("EXPLAIN_PREDICT", LINEAR)
    top = asked.setting("top_k_features", int, 5)
    if top < 1:
        raise invalid_query("top_k_features must be at least 1.")
    asked.check()
    columns = weights.explain(asked.model, asked.rows, threshold=threshold(asked), top=top)
    return _beside(columns, asked.rows)


def _is_standardized(asked: Call) -> bool:
    return bool(asked.setting("standardize", bool, False))


def _global_explain(asked: Call) -> pa.Table:
    if asked.setting("class_level_explain", bool, False):
        raise not_implemented("ML.GLOBAL_EXPLAIN with class_level_explain")
    return weights.global_explain(asked.model)


CALLS: dict[str, Callable[[Call], Any]] = {
    "PREDICT": _predict,
    "EVALUATE": _evaluate,
    "EXPLAIN_PREDICT": _explain_predict,
    "TRAINING_INFO": information.training_info,
    "FEATURE_INFO": information.feature_info,
    "CONFUSION_MATRIX": curves.confusion_matrix,
    "ROC_CURVE": curves.roc_curve,
    "WEIGHTS": lambda asked: weights.weights(asked.model, _is_standardized(asked)),
    "GLOBAL_EXPLAIN": _global_explain,
    "FEATURE_IMPORTANCE": lambda asked: weights.importance(asked.model),
    "CENTROIDS": lambda asked: weights.centroids(asked.model, _is_standardized(asked)),
    "PRINCIPAL_COMPONENTS": lambda asked: weights.components(asked.model),
    "PRINCIPAL_COMPONENT_INFO": lambda asked: weights.component_info(asked.model),
}
