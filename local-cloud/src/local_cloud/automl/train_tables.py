"""Train on a table: `python -m local_cloud.automl.train_tables --data FILE.csv --target NAME …`.

A job of the engine runs it. It writes, below --output: model/ (see table_model), candidates.json
(the best first), evaluation.json (of the rows to test with) and statistics.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from local_cloud.automl import columns, metrics, search, splits, statistics
from local_cloud.automl.errors import BadData
from local_cloud.automl.files import write
from local_cloud.automl.search import Candidate, Problem
from local_cloud.automl.table_model import TableModel

EXPLAINED = 40  # rows, from which the columns' importance is computed


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="CSV files")
    parser.add_argument("--target", required=True, help="the column to predict")
    parser.add_argument("--task", choices=sorted(metrics.KNOWN), required=True)
    parser.add_argument("--objective", default="", help="a metric; by default the loss")
    parser.add_argument("--trials", type=int, default=search.TRIALS, help="at most so many")
    parser.add_argument("--seconds", type=float, help="begin no candidate after so long")
    parser.add_argument("--patience", type=int, help="end after so many that are not better")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", type=json.loads, default={}, help='JSON: {"Age": "numeric"}')
    parser.add_argument("--only-kinds", action="store_true", help="use no other columns")
    parser.add_argument("--fractions", nargs=3, type=float, default=[0.8, 0.1, 0.1])
    parser.add_argument("--split-column", default="", help="holds TRAIN, VALIDATE or TEST")
    parser.add_argument("--time-column", default="", help="the latest rows are tested with")
    parser.add_argument("--output", type=Path, required=True, help="a folder")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    """Search, train the best candidate, and test it."""
    asked = arguments(words)
    try:
        train(asked)
    except BadData as problem:
        sys.exit(str(problem))


def train(asked: argparse.Namespace) -> None:
    """Do what the arguments ask for."""
    rows = columns.read(asked.data)
    write(asked.output / "statistics.json", statistics.of(rows))
    split = splits.Split(tuple(asked.fractions), asked.split_column, asked.time_column)
    known, tested = splits.separate_test(rows, split.parts(rows, asked.seed))
    problem = Problem.of(
        select_columns(known, asked, split),
        asked.target,
        asked.task,
        objective=asked.objective,
        kinds=asked.kinds,
        seed=asked.seed,
    )
    tested = tested[tested[asked.target].notna()]
    if not len(tested):
        raise BadData(f"no row to test with has a target {asked.target!r}")
    print(f"{len(problem.rows)} rows to train with, {len(tested)} to test with", flush=True)
    for name, why in problem.columns.dropped.items():
        print(f"column {name!r} is not used: {why}", flush=True)
    began = time.monotonic()

    def tell(one: Candidate) -> None:
        metric, error = one.metrics[problem.objective], one.errors[problem.objective]
        line = f"{problem.objective} {metric:.4f} ± {error:.4f}, {one.seconds:.1f} s"
        print(f"candidate {one.name}: {line}", flush=True)

    limits = {"trials": asked.trials, "seconds": asked.seconds, "patience": asked.patience}
    candidates = search.search(problem, **limits, tell=tell)
    best = candidates[0]
    print(f"{len(candidates)} candidates in {time.monotonic() - began:.1f} s; best: {best.name}")
    model = TableModel.of(problem, best)
    model.save(asked.output / "model")
    evaluated = metrics.evaluation(
        problem.task, problem.truth(tested), model.predict(tested), classes=problem.classes
    )
    evaluated["importance"] = model.importance(tested[: count_explained_rows(model)])
    write(asked.output / "evaluation.json", evaluated)
    write(asked.output / "candidates.json", [one.document() for one in candidates])
    print(f"on the rows to test with: {problem.objective} {evaluated[problem.objective]:.4f}")


def count_explained_rows(model: TableModel) -> int:
    """Return how many rows explain the columns' importance: fewer where there are many columns."""
    return max(1, min(EXPLAINED, 50 * EXPLAINED // len(model.columns.used)))


def select_columns(rows: Any, asked: argparse.Namespace, split: splits.Split) -> Any:
    """Return the columns that a model may get, and the target."""
    wanted = [name for name in rows.columns if name not in split.unused]
    if asked.only_kinds:
        for name in asked.kinds:
            if name not in rows:
                raise BadData(f"there is no column {name!r}")
        wanted = [name for name in wanted if name in asked.kinds or name == asked.target]
    return rows[wanted]


if __name__ == "__main__":
    main()
