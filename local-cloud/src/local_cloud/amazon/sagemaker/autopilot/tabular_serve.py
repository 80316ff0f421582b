"""Serve a candidate of an Autopilot job; it lies in the archive of each, beside the model.

It needs pandas, scikit-learn and joblib, and nothing of the local cloud. A request is rows of CSV
without a header and without the target; SAGEMAKER_INFERENCE_OUTPUT names the columns of the answer.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
from pathlib import Path
from typing import Any

CSV = "text/csv"


class Model:
    """What a model's folder holds."""

    def __init__(self, folder: Path) -> None:
        """Read it."""
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        self.features = json.loads((folder / "autopilot.json").read_text(encoding="utf-8"))[
            "features"
        ]
        self.numeric = about["columns"]["numeric"]
        self.categories = about["columns"]["categories"]
        self.labels: list[str] = about["classes"]
        self.pipeline: Any = importlib.import_module("joblib").load(folder / "model.joblib")


def model_fn(model_dir: str) -> Model:
    """Load the candidate."""
    return Model(Path(model_dir))


def transform_fn(model: Model, body: str, content_type: str, accept: str) -> tuple[str, str]:
    """Answer a request."""
    for kind in (content_type, accept):
        if kind.partition(";")[0] != CSV:
            raise _refusal(415, f"{kind} is not supported; send and accept {CSV}")
    frame = _frame(model, body)
    if not model.labels:
        columns = {"predicted_label": model.pipeline.predict(frame).tolist()}
    else:
        chances = model.pipeline.predict_proba(frame)
        best = chances.argmax(axis=1)
        columns = {
            "predicted_label": [model.labels[place] for place in best],
            "probability": chances.max(axis=1).tolist(),
            "probabilities": [str(row.tolist()) for row in chances],
            "labels": [str(model.labels)] * len(best),
        }
    wanted = [each.strip() for each in os.environ["SAGEMAKER_INFERENCE_OUTPUT"].split(",")]
    if unknown := [name for name in wanted if name not in columns]:
        raise _refusal(
            400,
            f"SAGEMAKER_INFERENCE_OUTPUT: there is no {', '.join(unknown)}, but"
            f" {', '.join(columns)}",
        )
    answer = io.StringIO()
    rows = zip(*(columns[name] for name in wanted), strict=True)
    csv.writer(answer, lineterminator="\n").writerows(rows)
    return answer.getvalue(), CSV


def _frame(model: Model, body: str) -> Any:
    """Return the columns that the model uses, from rows of all features."""
    pandas = importlib.import_module("pandas")
    rows = [row for row in csv.reader(io.StringIO(body)) if row]
    for row in rows:
        if len(row) != len(model.features):
            raise _refusal(
                400,
                f"a row has {len(row)} values; the model takes {len(model.features)}, in the order"
                f" {', '.join(model.features)}",
            )
    given = pandas.DataFrame(rows, columns=model.features, dtype=object)
    columns = {}
    for name in model.numeric:
        numbers = pandas.to_numeric(given[name], errors="coerce")
        wrong = given[name][numbers.isna() & (given[name].str.strip() != "")]
        if len(wrong):
            raise _refusal(400, f"{name}: {wrong.iloc[0]!r} is not a number")
        columns[name] = numbers.astype(float)
    return pandas.DataFrame(columns | {name: given[name] for name in model.categories})


def _refusal(status: int, sentence: str) -> Exception:
    """Return an error that is answered with this status, in the words of the images' toolkit."""
    errors = importlib.import_module("sagemaker_inference.errors")
    problem: Exception = errors.BaseInferenceToolkitError(status, sentence, "refused")
    return problem
