"""ML.TRAINING_INFO and ML.FEATURE_INFO: bigqueryml-syntax-train, -feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.ml.calls import Call, lists

if TYPE_CHECKING:
    import pyarrow as pa


def training_info(asked: Call) -> pa.Table:
    """ML.TRAINING_INFO."""
    import pyarrow as pa

    model = asked.model
    iterations = model.document["training"]["iterations"]
    took = round(model.document["training"]["seconds"] * 1000)
    floats = {"loss": "loss", "eval_loss": "eval_loss", "learning_rate": "learn_rate"}
    columns: dict[str, Any] = {
        "training_run": pa.array([0] * len(iterations), pa.int64()),
        "iteration": pa.array([one["index"] for one in iterations], pa.int64()),
    }
    columns |= {
        name: pa.array([one.get(key) for one in iterations], pa.float64())
        for name, key in floats.items()
    }
    # the library tells of the whole training's time only
    durations = [None] * (len(iterations) - 1) + [took]
    columns["duration_ms"] = pa.array(durations, pa.int64())
    if model.kind == "KMEANS":
        sizes, radii = model.arrays["sizes"], model.arrays["radii"]
        fields = {
            "centroid_id": range(1, len(sizes) + 1),
            "cluster_radius": radii,
            "cluster_size": sizes,
        }
        columns["cluster_info"] = lists(len(sizes), fields)
    return pa.table(columns)


def feature_info(asked: Call) -> pa.Table:
    """ML.FEATURE_INFO."""
    import pyarrow as pa

    features = asked.model.document["columns"]
    columns: dict[str, Any] = {"input": pa.array([one["name"] for one in features], pa.string())}
    for name in ("min", "max", "mean", "median", "stddev"):
        columns[name] = pa.array([one.get(name) for one in features], pa.float64())
    for name in ("category_count", "null_count", "dimension"):
        columns[name] = pa.array([one.get(name) for one in features], pa.int64())
    return pa.table(columns)
