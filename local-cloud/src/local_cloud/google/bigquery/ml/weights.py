"""What a model has learned, by the names of its columns.

bigqueryml-syntax-weights, -centroids, -principal-components, -explain-predict, -global-explain,
-importance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import invalid_query
from local_cloud.google.bigquery.ml import metrics, preparation, scores
from local_cloud.google.bigquery.ml.model import Model
from local_cloud.google.bigquery.ml.options import BOOSTED, FOREST, LINEAR

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

INTERCEPT = "__INTERCEPT__"


def weights(model: Model, standardized: bool) -> pa.Table:
    """ML.WEIGHTS: in the columns' own units or, standardized, as they were trained."""
    import pyarrow as pa

    model.require("WEIGHTS", LINEAR)
    several = model.classifies and len(model.classes) > 2
    rows: list[dict[str, Any]] = []
    for number, coefficients in enumerate(model.arrays["coefficients"]):
        more = {"class_label": str(model.classes[number])} if several else {}
        intercept = float(model.arrays["intercept"][number])
        for feature, values in _by_feature(model, coefficients):
            if "mean" in feature and not standardized:
                intercept -= float(values[0]) * feature["shift"] / feature["scale"]
                values = values / feature["scale"]
            rows.append({"processed_input": feature["name"], **more} | _weight(feature, values))
        rows.append({"processed_input": INTERCEPT, **more, "weight": intercept})
    fields: dict[str, Any] = {"processed_input": pa.string()}
    fields |= {"class_label": pa.string()} if several else {}
    fields |= {"weight": pa.float64(), "category_weights": _pairs("weight")}
    return _table(rows, fields)


def _weight(feature: preparation.Feature, values: np.ndarray) -> dict[str, Any]:
    if "mean" in feature:
        return {"weight": float(values[0])}
    return {"category_weights": _categories(feature, values, "weight")}


def _categories(
    feature: preparation.Feature, values: np.ndarray, word: str
) -> list[dict[str, Any]]:
    names = [preparation.NULL if one is None else one for one in feature["categories"]]
    return [{"category": name, word: float(one)} for name, one in zip(names, values, strict=True)]


def _by_feature(model: Model, values: np.ndarray) -> list[tuple[preparation.Feature, np.ndarray]]:
    features = model.features
    placed = zip(features, preparation.starts(features), strict=True)
    return [(one, values[at : at + preparation.size(one)]) for one, at in placed]


def _pairs(word: str) -> Any:
    import pyarrow as pa

    return pa.list_(pa.struct([("category", pa.string()), (word, pa.float64())]))


def _table(rows: list[dict[str, Any]], fields: dict[str, Any]) -> pa.Table:
    """Replace NULL in ARRAYs, which are never NULL in BigQuery."""
    import pyarrow as pa

    columns = {}
    for name, kind in fields.items():
        empty: Any = [] if pa.types.is_list(kind) else None
        columns[name] = pa.array([row.get(name, empty) for row in rows], kind)
    return pa.table(columns)


def centroids(model: Model, standardized: bool) -> pa.Table:
    """ML.CENTROIDS, in the columns' own units unless standardized."""
    model.require("CENTROIDS", {"KMEANS"})
    return _parts(model, "centroid_id", model.arrays["centroids"], own_units=not standardized)


def components(model: Model) -> pa.Table:
    """ML.PRINCIPAL_COMPONENTS."""
    model.require("PRINCIPAL_COMPONENTS", {"PCA"})
    return _parts(model, "principal_component_id", model.arrays["components"], own_units=False)


def _parts(model: Model, identifier: str, vectors: np.ndarray, *, own_units: bool) -> pa.Table:
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for number, vector in enumerate(vectors, 1):
        for feature, values in _by_feature(model, vector):
            row: dict[str, Any] = {identifier: number, "feature": feature["name"]}
            if "mean" in feature:
                value = float(values[0])
                value = value * feature["scale"] + feature["shift"] if own_units else value
                rows.append(row | {"numerical_value": value})
            else:
                rows.append(row | {"categorical_value": _categories(feature, values, "value")})
    fields = {
        identifier: pa.int64(),
        "feature": pa.string(),
        "numerical_value": pa.float64(),
        "categorical_value": _pairs("value"),
    }
    return _table(rows, fields)


def component_info(model: Model) -> pa.Table:
    """ML.PRINCIPAL_COMPONENT_INFO."""
    import pyarrow as pa

    model.require("PRINCIPAL_COMPONENT_INFO", {"PCA"})
    ratios = model.arrays["ratios"]
    return pa.table(
        {
            "principal_component_id": pa.array(range(1, len(ratios) + 1), pa.int64()),
            "eigenvalue": model.arrays["eigenvalues"],
            "explained_variance_ratio": ratios,
            "cumulative_explained_variance_ratio": ratios.cumsum(),
        }
    )


def explain(model: Model, rows: pa.Table, *, threshold: float, top: int) -> dict[str, Any]:
    """ML.EXPLAIN_PREDICT's own columns: each feature adds weight times prepared value."""
    import numpy as np
    import pyarrow as pa

    x = preparation.matrix(rows, model.features)
    raw = scores.raw_scores(model.document["options"], model.arrays, x)
    columns: dict[str, Any] = {}
    of_row = np.zeros(len(x), dtype=int)  # which row of the weights explains it
    if model.classifies:
        probabilities = scores.probabilities(raw)
        numbers = metrics.predict(probabilities, threshold)
        columns[f"predicted_{model.label}"] = model.class_values(numbers)
        columns["probability"] = pa.array(probabilities[np.arange(len(x)), numbers])
        of_row = numbers if raw.shape[1] > 1 else of_row
    else:
        columns[f"predicted_{model.label}"] = pa.array(raw[:, 0])
    each = x * model.arrays["coefficients"][of_row]
    added = sum_by_column(model.features, each)
    return columns | {
        "top_feature_attributions": _attributions(added, top),
        "baseline_prediction_value": pa.array(model.arrays["intercept"][of_row]),
        "prediction_value": pa.array(raw[np.arange(len(x)), of_row]),
        "approximation_error": pa.array(np.zeros(len(x))),
    }


def sum_by_column(features: list[preparation.Feature], each: np.ndarray) -> dict[str, np.ndarray]:
    """Return what each column of the input adds, from what each prepared one adds."""
    added: dict[str, np.ndarray] = {}
    for feature, at in zip(features, preparation.starts(features), strict=True):
        part = each[:, at : at + preparation.size(feature)].sum(axis=1)
        added[feature["column"]] = added.get(feature["column"], 0) + part
    return added


def _attributions(added: dict[str, np.ndarray], top: int) -> pa.Array:
    """Return the features that add most, in either direction, first."""
    import numpy as np
    import pyarrow as pa

    names, values = pa.array(list(added)), np.column_stack(list(added.values()))
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :top]
    parts = pa.StructArray.from_arrays(
        [names.take(pa.array(order.ravel())), np.take_along_axis(values, order, axis=1).ravel()],
        names=["feature", "attribution"],
    )
    offsets = np.arange(0, len(parts) + 1, order.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), parts)


def average(
    document: dict[str, Any], arrays: dict[str, np.ndarray], x: np.ndarray
) -> list[dict[str, Any]]:
    """Return what ML.GLOBAL_EXPLAIN shows: the mean size of ML.EXPLAIN_PREDICT's attributions."""
    coefficients = arrays["coefficients"]
    raw = scores.raw_scores(document["options"], arrays, x)
    of_row = raw.argmax(axis=1)  # of several classes, the predicted one is explained
    added = sum_by_column(document["features"], x * coefficients[of_row])
    attributions = [
        {"feature": name, "attribution": float(abs(values).mean())}
        for name, values in added.items()
    ]
    return sorted(attributions, key=lambda one: -one["attribution"])


def global_explain(model: Model) -> pa.Table:
    """ML.GLOBAL_EXPLAIN, of the rows that the model was evaluated on."""
    import pyarrow as pa

    model.require("GLOBAL_EXPLAIN", LINEAR)
    if "global_explain" not in model.document:
        raise invalid_query(
            "ML.GLOBAL_EXPLAIN needs a model that was trained with enable_global_explain=TRUE."
        )
    fields = {"feature": pa.string(), "attribution": pa.float64()}
    return _table(model.document["global_explain"], fields)


def importance(model: Model) -> pa.Table:
    """ML.FEATURE_IMPORTANCE: how often and how well the trees split by each column."""
    import numpy as np
    import pyarrow as pa

    model.require("FEATURE_IMPORTANCE", BOOSTED | FOREST)
    arrays = model.arrays
    if "gain" not in arrays:
        raise invalid_query("This model was trained by an earlier version; train it again.")
    nodes = _splits(arrays)
    columns = [
        feature["column"] for feature in model.features for _ in range(preparation.size(feature))
    ]
    names = np.array(columns)[arrays["feature"][nodes]]
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(columns):
        own = nodes[names == name]
        gain = float(arrays["gain"][own].mean()) if len(own) else 0.0
        cover = float(arrays["cover"][own].mean()) if len(own) else 0.0
        weight = float(len(own))
        row: dict[str, Any] = {"feature": name, "importance_weight": weight}
        rows.append(row | {"importance_gain": gain, "importance_cover": cover})
    numbers = ("importance_weight", "importance_gain", "importance_cover")
    return _table(rows, {"feature": pa.string()} | dict.fromkeys(numbers, pa.float64()))


def _splits(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return the nodes that are no leaves, of the trees that the model has kept."""
    import numpy as np

    levels, level = [], arrays["roots"]
    while len(level):
        level = level[arrays["left"][level] >= 0]
        levels.append(level)
        level = np.concatenate([arrays["left"][level], arrays["right"][level]])
    made: np.ndarray = np.concatenate(levels)
    return made
