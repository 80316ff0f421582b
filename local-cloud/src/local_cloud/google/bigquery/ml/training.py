"""Train models in a process of their own: `python -m local_cloud.google.bigquery.ml.training`.

It reads names of folders. Each has options.json and table.arrow, and gets model.json and arrays.npz
or, if the request was at fault, problem.json. A process can be ended at any time, and its memory is
not the server's.
"""

from __future__ import annotations

import json
import os
import queue
import resource
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import Problem, invalid_query
from local_cloud.google.bigquery.ml import (
    estimators,
    labels,
    metrics,
    preparation,
    scores,
    split,
    statistics,
    weights,
)
from local_cloud.google.bigquery.ml.options import BOOSTED, CLASSIFIERS, FOREST, UNSUPERVISED

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

IDLE = 300  # seconds after which the process ends


def main(folder: Path) -> None:
    """Train, and write what came of it."""
    import numpy as np
    import pyarrow as pa

    warnings.simplefilter("ignore")  # scikit-learn's remarks on few iterations
    options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
    try:
        with pa.memory_map(str(folder / "table.arrow")) as file:
            document, arrays = train(pa.ipc.open_file(file).read_all(), options)
    except (Problem, MemoryError, ValueError, ArithmeticError) as problem:
        (folder / "problem.json").write_text(
            json.dumps(_describe_refusal(problem)), encoding="utf-8"
        )
        return
    with (folder / "arrays.npz").open("wb") as target:
        np.savez(target, allow_pickle=False, **arrays)
    (folder / "model.json").write_text(json.dumps(document), encoding="utf-8")


def _describe_refusal(problem: Exception) -> dict[str, Any]:
    """Return a refusal for the server.

    ValueError and ArithmeticError are scikit-learn's and numpy's.
    """
    if isinstance(problem, Problem):
        return {"code": problem.code, "reason": problem.reason, "message": str(problem)}
    if isinstance(problem, MemoryError):
        what = "The model needs more memory than the local cloud gives it; select fewer rows."
        return {"code": 400, "reason": "resourcesExceeded", "message": what}
    what = f"The model cannot be trained on this data: {str(problem)[:1000]}"
    return {"code": 400, "reason": "invalidQuery", "message": what}


def train(table: pa.Table, options: dict[str, Any]) -> tuple[dict[str, Any], estimators.Arrays]:
    """Train, and return the model's document and its arrays. Raises Problem."""
    kind = options["model_type"]
    table, label = _keep_labelled(table, options)
    if table.num_rows == 0:
        raise invalid_query("The training data has no rows, or no row with a label.")
    held = None if kind in UNSUPERVISED else split.evaluation_rows(table, options)
    columns = [name for name in table.column_names if name not in _apart(table, options, label)]
    if not columns:
        raise invalid_query("The training data has no column besides the label.")
    trained, evaluated = _divide(table, held)
    features = preparation.fit(
        trained,
        columns,
        scaled=_is_scaled(options),
        one_hot=options.get("category_encoding_method", "ONE_HOT_ENCODING") == "ONE_HOT_ENCODING",
    )
    document: dict[str, Any] = {
        "options": options,
        "features": features,
        "label": labels.label_of(trained, label, kind),
        "columns": statistics.columns(table, columns),
        "rows": [trained.num_rows, evaluated.num_rows if evaluated is not None else 0],
    }
    return document, _fit(document, trained, evaluated)


def _is_scaled(options: dict[str, Any]) -> bool:
    kind = options["model_type"]
    named = options.get("standardize_features", options.get("scale_features", True))
    return bool(named) and kind not in BOOSTED | FOREST


def _keep_labelled(table: pa.Table, options: dict[str, Any]) -> tuple[pa.Table, str]:
    """Return the rows with a label, and the label's column as the table spells it.

    Without one, it is "".
    """
    import pyarrow.compute as pc

    names = [name.lower() for name in table.column_names]
    if twice := {name for name in names if names.count(name) > 1}:
        raise invalid_query(f"Duplicate column name {min(twice)} in the training data.")
    if options["model_type"] in UNSUPERVISED:
        return table, ""
    wanted = options["input_label_cols"][0]
    if wanted.lower() not in names:
        raise invalid_query(
            f"Unable to identify the label column: there is no column {wanted}; name it in"
            " OPTIONS(input_label_cols=['…'])."
        )
    label = table.column_names[names.index(wanted.lower())]
    if table[label].null_count:
        table = table.filter(pc.is_valid(table[label]))
    return table, label


def _apart(table: pa.Table, options: dict[str, Any], label: str) -> set[str]:
    """Return the columns that are no feature: the label, and the one that splits."""
    apart = {label.lower()}
    if options.get("data_split_method") in ("CUSTOM", "SEQ"):
        apart.add(options["data_split_col"].lower())
    return {name for name in table.column_names if name.lower() in apart}


def _divide(table: pa.Table, held: np.ndarray | None) -> tuple[pa.Table, pa.Table | None]:
    import pyarrow as pa

    if held is None:
        return table, None
    trained, evaluated = table.filter(pa.array(~held)), table.filter(pa.array(held))
    if trained.num_rows == 0:
        raise invalid_query("The split leaves no row to train on.")
    return trained, evaluated if evaluated.num_rows else None


def _fit(
    document: dict[str, Any], trained: pa.Table, evaluated: pa.Table | None
) -> estimators.Arrays:
    """Return the arrays; what was measured is added to the document."""
    options, label = document["options"], document["label"]
    x = preparation.matrix(trained, document["features"])
    y = labels.targets(trained, label) if label else None
    if y is not None and y.dtype.kind == "f" and not _finite(y):
        raise invalid_query(f"The label {label['name']} holds a value that is no number.")
    _enough(options, x)
    began, at = time.monotonic(), time.time()
    arrays, losses = estimators.fit(options, x, y, weights=labels.weights(options, label, y))
    document["training"] = {"began": at, "seconds": time.monotonic() - began}
    held_x = preparation.matrix(evaluated, document["features"]) if evaluated is not None else None
    held_y = labels.targets(evaluated, label) if evaluated is not None else None
    if options["model_type"] in BOOSTED:
        arrays = statistics.stop_early(document, arrays, (x, y), held=(held_x, held_y))
    else:
        statistics.measure(document, arrays, losses, trained=(x, y), held=(held_x, held_y))
    if held_x is None:
        held_x, held_y = x, y
    if options.get("enable_global_explain"):
        document["global_explain"] = weights.average(document, arrays, held_x)
    reached = scores.score(options, arrays, held_x)
    if options["model_type"] == "PCA":
        document["evaluation"] = {"total_explained_variance_ratio": float(arrays["ratios"].sum())}
    else:
        document["evaluation"] = metrics.evaluate(
            options["model_type"], held_x, held_y, scores=reached
        )
    if options["model_type"] in CLASSIFIERS:  # for the curve and the matrix without other rows
        assert held_y is not None
        arrays = arrays | {"evaluated_scores": reached, "evaluated_classes": held_y}
    return arrays


def _finite(y: np.ndarray) -> bool:
    import numpy as np

    return bool(np.isfinite(y).all())


def _enough(options: dict[str, Any], x: np.ndarray) -> None:
    """Refuse what scikit-learn would with a traceback."""
    clusters = options.get("num_clusters")
    if clusters and clusters > len(x):
        raise invalid_query(f"{len(x)} rows cannot make {clusters} clusters.")
    components = options.get("num_principal_components")
    if components and components > min(x.shape):
        raise invalid_query(
            f"{components} principal components are more than {x.shape[0]} rows of {x.shape[1]}"
            " prepared features have."
        )
    if options["model_type"] in UNSUPERVISED and len(x) < 2:
        raise invalid_query("The training data has fewer than 2 rows.")


def serve() -> None:
    """Train what is in each folder that standard input names, and answer `done` for each.

    The server holds the other end: when it closes, or is killed, this process ends at once.
    """
    folders: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            folders.put(line.removesuffix("\n"))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            folder = folders.get(timeout=IDLE)
        except queue.Empty:
            return
        main(Path(folder))
        print("done", flush=True)


def _limit_memory() -> None:
    """Limit memory to three quarters of the machine's, so that the others keep some."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = machine * 3 // 4
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


if __name__ == "__main__":
    _limit_memory()
    serve()
