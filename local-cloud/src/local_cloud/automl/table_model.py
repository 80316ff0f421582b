"""A trained model of a table, in a folder: model.joblib is the pipeline, model.json the rest."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from local_cloud.automl import shapley
from local_cloud.automl.columns import Columns
from local_cloud.automl.search import Candidate, Problem, fit

PATHS = 5  # of the sampled Shapley values of a row
PIPELINE, ABOUT = "model.joblib", "model.json"
INTERVAL = (0.025, 0.975)  # of a value's residuals: a 95 % prediction interval


@dataclass(frozen=True)
class TableModel:
    """What predicts; baseline is a row of medians and of the most frequent categories."""

    pipeline: Any
    columns: Columns
    target: str
    classes: tuple[str, ...]  # none: it predicts values
    baseline: Mapping[str, Any]
    margins: tuple[float, float]  # added to a value, they bound its prediction interval

    @classmethod
    def of(cls, problem: Problem, candidate: Candidate) -> TableModel:
        """Train the candidate on all rows of the problem."""
        made = fit(problem, candidate)
        frame = problem.columns.frame(problem.rows)
        baseline: dict[str, Any] = {
            name: float(np.nanmedian(frame[name])) if frame[name].notna().any() else None
            for name in problem.columns.numeric
        }
        for name in problem.columns.categories:
            baseline[name] = str(frame[name].mode().iloc[0])
        margins = (0.0, 0.0)
        if not problem.classes:
            margins = residuals(problem, made)
        return cls(made, problem.columns, problem.target, problem.classes, baseline, margins)

    def predict(self, rows: Any) -> np.ndarray:
        """Return probabilities (rows, classes), or values (rows); rows: a DataFrame or mappings."""
        frame = self.columns.frame(rows)
        if self.classes:
            return np.asarray(self.pipeline.predict_proba(frame), dtype=float)
        return np.asarray(self.pipeline.predict(frame), dtype=float)

    def importance(self, rows: Any) -> dict[str, float]:
        """Return how much each column changes predictions: the mean size of its attributions.

        They are sampled Shapley values of the value, or of the most probable class.
        """
        frame = self.columns.frame(rows)
        names = list(self.columns.used)
        paths, sums = shapley.paths(names, PATHS), dict.fromkeys(names, 0.0)
        for given in frame.to_dict("records"):
            steps = []
            for path in paths:
                step = dict(self.baseline)
                steps.append(dict(step))
                for name in path:
                    step[name] = given[name]
                    steps.append(dict(step))
            predictions = self.predict(steps)
            values = predictions[:, predictions[-1].argmax()] if self.classes else predictions
            means = shapley.means(shapley.changes(paths, values.tolist()), names)
            for name in names:
                sums[name] += abs(means[name]) / len(frame)
        return sums

    def save(self, folder: Path) -> None:
        """Write the model's files."""
        folder.mkdir(parents=True, exist_ok=True)
        importlib.import_module("joblib").dump(self.pipeline, folder / PIPELINE, compress=3)
        about = {
            "columns": self.columns.document(),
            "target": self.target,
            "classes": self.classes,
            "baseline": self.baseline,
            "margins": self.margins,
        }
        (folder / ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> TableModel:
        """Read the model's files, which are trusted: joblib runs what they say."""
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        first, last = about["margins"]
        return cls(
            importlib.import_module("joblib").load(folder / PIPELINE),
            Columns.from_document(about["columns"]),
            about["target"],
            tuple(about["classes"]),
            about["baseline"],
            (first, last),
        )


def residuals(problem: Problem, made: Any) -> tuple[float, float]:
    """Return quantiles of how targets differ from predictions of models that had not seen them."""
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_predict

    frame, truth = problem.columns.frame(problem.rows), problem.truth(problem.rows)
    apart = truth - cross_val_predict(clone(made), frame, truth, cv=5)
    low, high = np.quantile(apart, INTERVAL)
    return float(low), float(high)
