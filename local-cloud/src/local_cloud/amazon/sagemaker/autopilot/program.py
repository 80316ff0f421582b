"""What an Autopilot job runs: `python program.py /opt/ml`.

Runs in the job. It reads the tables of the channel `training`, tries candidates, and writes an
archive for each, with the program that serves it. output/data/report.json says how far it is.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from local_cloud.automl.search import Candidate, Problem
    from local_cloud.json_types import Json

LEAST = 500  # rows: "Automated ML", quotas
TRIALS = 10  # where the request has no limit: "Training modes and algorithm support"
MANY = 20  # different whole numbers: a target with more is a quantity, not a class
SERVE = Path(__file__).with_name("tabular_serve.py")
# The service's name of a problem -> the search's; the same for metrics.
TASKS = {
    "BinaryClassification": "classification",
    "MulticlassClassification": "classification",
    "Regression": "regression",
}
DEFAULTS = {"BinaryClassification": "F1", "MulticlassClassification": "Accuracy"}
DEFAULTS |= {"Regression": "MSE"}
METRICS = {
    "Accuracy": "accuracy",
    "AUC": "auRoc",
    "BalancedAccuracy": "balancedAccuracy",
    "F1": "f1",
    "Precision": "precision",
    "Recall": "recall",
    "LogLoss": "logLoss",
    "F1macro": "f1Macro",
    "PrecisionMacro": "precisionMacro",
    "RecallMacro": "recallMacro",
    "MSE": "meanSquaredError",
    "RMSE": "rootMeanSquaredError",
    "MAE": "meanAbsoluteError",
    "R2": "rSquared",
}


class Report:
    """report.json, written anew after each step."""

    def __init__(self, path: Path) -> None:
        """Begin with nothing known."""
        self._path = path
        self._facts: Json = {"candidates": []}

    def tell(self, **facts: Any) -> None:
        """Write what has become known."""
        self._facts |= facts | {"at": time.time()}
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(self._facts), encoding="utf-8")
        os.replace(fresh, self._path)

    def add(self, candidate: Json) -> None:
        """Write that a candidate has ended."""
        self._facts["candidates"].append(candidate)
        self.tell()


def main(ml: Path) -> None:
    """Do the job; a mistake in the data is written to output/failure, with the exit code 2."""
    from local_cloud.automl.errors import BadData

    config = json.loads((ml / "input/config/hyperparameters.json").read_text(encoding="utf-8"))
    try:
        search(ml, {name: json.loads(value) for name, value in config.items()})
    except BadData as problem:
        (ml / "output/failure").write_text(str(problem), encoding="utf-8")
        sys.stderr.write(f"{problem}\n")
        sys.exit(2)


def search(ml: Path, wanted: Json) -> None:
    """Read the table, try candidates and keep each."""
    from local_cloud.automl import search as automl
    from local_cloud.automl.errors import BadData
    from local_cloud.automl.search import Problem

    began = time.monotonic()
    report = Report(ml / "output/data/report.json")
    report.tell(stage="AnalyzingData")
    rows = read(ml / "input/data/training", wanted["target"])
    kind = wanted.get("problem") or infer_problem_type(rows[wanted["target"]])
    objective = wanted.get("objective") or DEFAULTS[kind]
    problem = Problem.of(rows, wanted["target"], TASKS[kind], objective=METRICS[objective])
    print(f"{len(problem.rows)} rows, {kind}, objective {objective}", flush=True)
    report.tell(stage="ModelTuning", problem=kind, objective=objective, rows=len(problem.rows))
    features = [name for name in rows.columns if name != wanted["target"]]
    about = {"features": features, "problem": kind}

    def tell(one: Candidate) -> None:
        keep(problem, one, about, folder=ml / "model", report=report)

    most, seconds = wanted.get("max_candidates"), wanted.get("seconds")
    limits: Json = {"trials": most or TRIALS}
    limits |= {"models": wanted["algorithms"]} if wanted.get("algorithms") else {}
    candidates = automl.search(
        problem,
        seconds=seconds,
        candidate_seconds=wanted.get("candidate_seconds"),
        tell=tell,
        **limits,
    )
    if not any(one.metrics for one in candidates):
        raise BadData("no candidate was complete: MaxRuntimePerTrainingJobInSeconds is short")
    reached = ""
    if seconds and time.monotonic() - began >= seconds:
        reached = "MaxAutoMLJobRuntimeReached"
    elif most and len(candidates) >= most:
        reached = "MaxCandidatesReached"
    report.tell(reached=reached)
    print(f"{len(candidates)} candidates in {time.monotonic() - began:.1f} s", flush=True)


def read(folder: Path, target: str) -> pd.DataFrame:
    """Return the rows of all CSV files that have a target."""
    from local_cloud.automl import columns
    from local_cloud.automl.errors import BadData

    rows = columns.read(sorted(path for path in folder.rglob("*") if path.is_file()))
    if target not in rows:
        raise BadData(
            f"the target attribute {target!r} is not in the header: {', '.join(rows.columns)}"
        )
    rows = rows[rows[target].notna()].reset_index(drop=True)
    if len(rows) < LEAST:
        raise BadData(f"the table has {len(rows)} rows with a target; {LEAST} are needed")
    return rows


def infer_problem_type(target: Any) -> str:
    """Return the type of problem, by the values of the target: a Series."""
    from local_cloud.automl import columns

    different = set(target.astype(str))
    if len(different) == 2:
        return "BinaryClassification"
    whole = all(value.lstrip("+-").isdigit() for value in different)
    if columns.is_numeric(target) and (not whole or len(different) > MANY):
        return "Regression"
    return "MulticlassClassification"


def keep(problem: Problem, one: Candidate, about: Json, *, folder: Path, report: Report) -> None:
    """Train a candidate on all rows, write its archive, and report it."""
    from local_cloud.automl.table_model import TableModel

    now = time.time()
    name = f"trial-{one.name.replace(' ', '-')}"
    entry: Json = {"name": name, "created": now - one.seconds, "model": one.model}
    if not one.metrics:
        failure = f"it ran for {one.seconds:.0f} s: longer than MaxRuntimePerTrainingJobInSeconds"
        report.add(entry | {"status": "Failed", "failure": failure, "ended": now})
        return
    values = {word: one.metrics[own] for word, own in METRICS.items() if own in one.metrics}
    with tempfile.TemporaryDirectory() as made:
        TableModel.of(problem, one).save(Path(made))
        (Path(made) / "autopilot.json").write_text(json.dumps(about), encoding="utf-8")
        (Path(made) / "code").mkdir()
        shutil.copy(SERVE, Path(made) / "code")
        (folder / name).mkdir()
        with tarfile.open(folder / name / "model.tar.gz", "w:gz", compresslevel=1) as archive:
            archive.add(made, ".", filter=_anonymous)
    report.add(entry | {"status": "Completed", "metrics": values, "ended": time.time()})
    print(f"{name}: {_format(values)}", flush=True)


def _format(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in values.items())


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[4])
    main(Path(sys.argv[1]))
