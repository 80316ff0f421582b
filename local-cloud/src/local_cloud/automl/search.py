"""Search for the best model of a table: pipelines and their parameters, chosen by Optuna.

The first candidate is a linear model, if `models` has it, so that the result is never worse than it
by the objective, cross-validated. With a limit of trials and a seed, two searches find the same.

Optuna and scikit-learn are here for other reasons already. FLAML 2.7 would bring XGBoost with
NVIDIA's libraries, and AutoGluon 1.6 needs a pandas below 3 (tried on 2026-11-24).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import optuna
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from local_cloud.automl import metrics, pipelines
from local_cloud.automl.columns import Columns, numbers
from local_cloud.automl.errors import BadData
from local_cloud.automl.metrics import CLASSIFICATION, REGRESSION
from local_cloud.automl.pipelines import LINEAR, MODELS

FOLDS = 5
MOST_CLASSES = 500  # as on Vertex AI
TRIALS = 30  # where the caller names no limit


@dataclass(frozen=True)
class Problem:
    """What is searched for: rows as texts and numbers, the target, and what is better."""

    rows: pd.DataFrame
    target: str
    task: str  # classification or regression
    columns: Columns
    objective: str  # one of metrics.KNOWN[task]
    classes: tuple[str, ...] = ()  # in order
    seed: int = 0

    @classmethod
    def of(
        cls,
        rows: pd.DataFrame,
        target: str,
        task: str,
        *,
        objective: str = "",
        kinds: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> Problem:
        """Check the rows; those without a target are left out. objective: by default the loss."""
        if target not in rows:
            raise BadData(f"there is no column {target!r}; there are {', '.join(rows.columns)}")
        objective = objective or metrics.LOSS[task]
        if objective not in metrics.KNOWN[task]:
            known = ", ".join(metrics.KNOWN[task])
            raise BadData(f"objective {objective!r}: for {task} there are {known}")
        there = rows[target].notna() & (rows[target].astype(str) != "")
        rows = rows[there].reset_index(drop=True)
        classes: tuple[str, ...] = ()
        if task == CLASSIFICATION:
            counts = rows[target].astype(str).value_counts()
            classes = tuple(sorted(counts.index, key=_order))
            if not 2 <= len(classes) <= MOST_CLASSES:
                raise BadData(
                    f"target {target!r} has {len(classes)} classes; 2 to {MOST_CLASSES} are needed"
                )
            if counts.min() < 2:
                raise BadData(f"class {counts.idxmin()!r} of {target!r} has one row; 2 are needed")
        elif len(rows) < 2 * FOLDS:
            raise BadData(f"{len(rows)} rows have a target; {2 * FOLDS} are needed")
        columns = Columns.of(rows, target, kinds)
        return cls(rows, target, task, columns, objective, classes, seed)

    def truth(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the targets of rows: the classes' places, or numbers."""
        if self.task == REGRESSION:
            targets = numbers(rows[self.target], self.target)
            if np.isnan(targets).any():
                raise BadData(f"target {self.target!r} is missing in a row")
            return targets
        places = {name: place for place, name in enumerate(self.classes)}
        try:
            return np.array([places[str(value)] for value in rows[self.target]], dtype=int)
        except KeyError as unknown:
            raise BadData(f"target {self.target!r}: no row to train with has {unknown}") from None

    def predict(self, fitted: Any, frame: pd.DataFrame) -> np.ndarray:
        """Return the probabilities of all classes, or values; frame: of Columns.frame()."""
        predictions = fitted.predict_proba(frame) if self.classes else fitted.predict(frame)
        return np.asarray(predictions, dtype=float)


@dataclass(frozen=True)
class Candidate:
    """A model that was tried; metrics are means over the folds, errors their standard errors."""

    name: str
    model: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """Return the candidate as JSON can hold it."""
        return asdict(self)


def search(
    problem: Problem,
    *,
    trials: int = TRIALS,
    seconds: float | None = None,
    patience: int | None = None,
    candidate_seconds: float | None = None,
    models: Sequence[str] = tuple(MODELS),
    tell: Callable[[Candidate], None] = lambda _: None,
) -> list[Candidate]:
    """Try candidates, at most `trials` and until `seconds` have gone by; returns the best first.

    The one that runs when the time is over is finished. patience: once each model was tried, so
    many candidates in a row that are not better end the search. One that takes longer than
    candidate_seconds ends after the fold that it is at, without metrics, and is last. tell: is
    called with each as it ends.
    """
    frame, truth = problem.columns.frame(problem.rows), problem.truth(problem.rows)
    folds = _folds(problem, truth)
    names = sorted(models, key=lambda name: name != LINEAR)
    better = metrics.KNOWN[problem.task][problem.objective]
    candidates: list[Candidate] = []
    end = time.monotonic() + (math.inf if seconds is None else seconds)

    def stop_at_the_end(study: optuna.Study, _: optuna.trial.FrozenTrial) -> None:
        if patience is not None and any(one.metrics for one in candidates):
            since = len(candidates) - max(len(names), 1 + study.best_trial.number)
            if since >= patience:
                study.stop()
        if time.monotonic() >= end:  # Optuna's own timeout may leave no candidate at all
            study.stop()

    def try_candidate(trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", names)
        parameters = MODELS[model][1](trial)
        name = f"{trial.number + 1:03d} {model}"
        one = Candidate(name, model, parameters)
        one = _cross_validate(
            problem, one, frame=frame, truth=truth, folds=folds, limit=candidate_seconds
        )
        candidates.append(one)
        tell(one)
        if not one.metrics:
            raise optuna.TrialPruned
        return one.metrics[problem.objective]

    study = _study(names, problem.seed, better)
    study.optimize(try_candidate, n_trials=max(1, trials), callbacks=[stop_at_the_end])
    complete = [one for one in candidates if one.metrics]
    complete.sort(key=lambda one: one.metrics[problem.objective], reverse=better)
    return complete + [one for one in candidates if not one.metrics]


def fit(problem: Problem, candidate: Candidate) -> Any:
    """Train a candidate on all rows; returns the pipeline."""
    made = pipelines.pipeline(
        problem.task,
        problem.columns,
        candidate.model,
        parameters=candidate.parameters,
        seed=problem.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return made.fit(problem.columns.frame(problem.rows), problem.truth(problem.rows))


def _study(names: list[str], seed: int, better: bool) -> optuna.Study:
    """Return a study whose first trials are each model's first values, the linear one's first."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize" if better else "minimize",
        sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=2 * len(names)),
    )
    for name in names:
        study.enqueue_trial({"model": name, **MODELS[name][2]})
    return study


def _folds(problem: Problem, truth: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to train and to validate with, FOLDS times; the same for all candidates."""
    if problem.classes:
        count = int(min(FOLDS, np.bincount(truth).min()))
        kind = StratifiedKFold(count, shuffle=True, random_state=problem.seed)
    else:
        kind = KFold(FOLDS, shuffle=True, random_state=problem.seed)
    return list(kind.split(np.zeros(len(truth)), truth))


def _cross_validate(
    problem: Problem,
    candidate: Candidate,
    *,
    frame: pd.DataFrame,
    truth: np.ndarray,
    folds: list[tuple[np.ndarray, np.ndarray]],
    limit: float | None,
) -> Candidate:
    """Return the candidate with its cross-validated metrics, unless it takes too long."""
    began, results = time.monotonic(), []
    for train, validate in folds:
        if limit and time.monotonic() - began > limit:
            return replace(candidate, seconds=round(time.monotonic() - began, 3))
        made = pipelines.pipeline(
            problem.task,
            problem.columns,
            candidate.model,
            parameters=candidate.parameters,
            seed=problem.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            made.fit(frame.iloc[train], truth[train])
        predictions = problem.predict(made, frame.iloc[validate])
        results.append(metrics.of(problem.task, truth[validate], predictions))
    shared = [name for name in results[0] if all(name in each for each in results)]
    if problem.objective not in shared:
        raise BadData(f"{problem.objective} needs targets and predictions that are not negative")
    values = {name: np.array([each[name] for each in results]) for name in shared}
    return Candidate(
        candidate.name,
        candidate.model,
        candidate.parameters,
        {name: float(each.mean()) for name, each in values.items()},
        {name: float(each.std(ddof=1) / len(each) ** 0.5) for name, each in values.items()},
        round(time.monotonic() - began, 3),
    )


def _order(name: str) -> tuple[bool, float, str]:
    """Sort classes that are numbers in their order, then texts in theirs."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name
