"""What training tells of itself: statistics of the columns, and the loss of each iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.ml import scores
from local_cloud.google.bigquery.ml.options import CLASSIFIERS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from local_cloud.google.bigquery.ml.estimators import Arrays

Rows = tuple["np.ndarray | None", "np.ndarray | None"]  # the matrix and the targets


def columns(table: pa.Table, names: list[str]) -> list[dict[str, Any]]:
    """ML.FEATURE_INFO of each column."""
    return [{"name": name, "type": str(table[name].type)} | _column(table[name]) for name in names]


def _column(column: pa.ChunkedArray) -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    kind = column.type
    info: dict[str, Any] = {"null_count": column.null_count}
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
        values = column.drop_null().cast(pa.float64()).to_numpy()
        if len(values):
            info |= {
                "min": float(values.min()),
                "max": float(values.max()),
                "mean": float(values.mean()),
                "median": float(np.median(values)),
                "stddev": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
            }
        return info
    if kinds.is_timestamp(kind) or kinds.is_date(kind):
        return info
    return info | {"category_count": int(pc.count_distinct(column, mode="only_valid").as_py())}


def loss(options: dict[str, Any], raw: np.ndarray, y: np.ndarray) -> float:
    """Return a classifier's log loss on raw scores, or a regressor's mean squared error."""
    import numpy as np

    if options["model_type"] not in CLASSIFIERS:
        return float(((raw[:, 0] - y) ** 2).mean())
    of_truth = scores.probabilities(raw)[np.arange(len(y)), y]
    return float(-np.log(np.clip(of_truth, np.finfo(float).eps, 1)).mean())


def measure(
    document: dict[str, Any], arrays: Arrays, losses: list[float], *, trained: Rows, held: Rows
) -> None:
    """Add the iterations to the document: those that the library told of, or the last one."""
    options, kind = document["options"], document["options"]["model_type"]
    iterations: list[dict[str, Any]]
    last = int(arrays["iterations"][0]) - 1 if "iterations" in arrays else 0
    if losses and kind != "KMEANS":
        iterations = [{"index": i, "loss": float(one)} for i, one in enumerate(losses)]
    elif kind in ("KMEANS", "PCA"):
        iterations = [{"index": last, "loss": losses[0] if losses else None}]
    else:
        assert trained[0] is not None and trained[1] is not None
        iterations = [{"index": last, "loss": _final(options, arrays, trained)}]
    if held[0] is not None:
        iterations[-1]["eval_loss"] = _final(options, arrays, held)
    document["training"]["iterations"] = iterations


def _final(options: dict[str, Any], arrays: Arrays, rows: Rows) -> float:
    """Return the loss of the trained model."""
    import numpy as np

    x, y = rows
    assert x is not None and y is not None
    if options["model_type"] in CLASSIFIERS:
        chosen = scores.score(options, arrays, x)[np.arange(len(y)), y]
        return float(-np.log(np.clip(chosen, np.finfo(float).eps, 1)).mean())
    return float(((scores.score(options, arrays, x) - y) ** 2).mean())


def stop_early(document: dict[str, Any], arrays: Arrays, trained: Rows, *, held: Rows) -> Arrays:
    """Return the boosted trees up to the iteration after which they hardly became better.

    bigqueryml-syntax-create-boosted-tree#early_stop: the loss on the rows that are evaluated on
    (on the others if there are none) improves by less than `min_rel_progress`.
    """
    options = document["options"]
    classes = len(arrays["baseline"])
    iterations: list[dict[str, Any]] = []
    sums: dict[str, np.ndarray] = {}
    for number in range(len(arrays["roots"]) // classes):
        entry: dict[str, Any] = {"index": number, "learn_rate": options["learn_rate"]}
        for name, (x, y) in (("loss", trained), ("eval_loss", held)):
            if x is None or y is None:
                continue
            one = _iteration(arrays, x, number, classes=classes)
            sums[name] = sums[name] + one if number else arrays["baseline"] + one
            entry[name] = loss(options, sums[name], y)
        name = "eval_loss" if "eval_loss" in entry else "loss"
        if options["early_stop"] and iterations:
            before = iterations[-1][name]
            if before - entry[name] < options["min_rel_progress"] * before:
                break
        iterations.append(entry)
    document["training"]["iterations"] = iterations
    return arrays | {"roots": arrays["roots"][: len(iterations) * classes]}


def _iteration(arrays: Arrays, x: np.ndarray, number: int, *, classes: int) -> np.ndarray:
    """Return what one iteration's trees add."""
    import numpy as np

    one = arrays | {
        "roots": arrays["roots"][number * classes : (number + 1) * classes],
        "baseline": np.zeros(classes),
    }
    return scores.sum_trees(one, x)
