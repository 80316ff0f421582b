"""The search for a table's best model: what it tries and refuses, and that it is repeatable."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from local_cloud.automl import columns, metrics, search
from local_cloud.automl.errors import BadData
from local_cloud.automl.pipelines import LINEAR
from local_cloud.automl.search import Problem
from local_cloud.automl.table_model import TableModel
from tests.automl.tables import rides


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rides(tmp_path_factory.mktemp("tables") / "rides.csv")


def problem(table: Path, target: str, task: str, **more: str) -> Problem:
    rows = columns.read([table]).drop(columns={"paid", "fare"} - {target})
    return Problem.of(rows, target, task, **more)


def test_a_search_finds_what_a_line_cannot_say_and_tries_the_line_first(table: Path) -> None:
    told: list[str] = []
    paid = problem(table, "paid", "classification")
    match = search.search(paid, trials=5, tell=lambda one: told.append(one.model))
    assert told[0] == LINEAR
    linear = next(one for one in match if one.model == LINEAR)
    assert match[0].metrics["logLoss"] < linear.metrics["logLoss"] - 3 * linear.errors["logLoss"]
    assert match[0].metrics["accuracy"] > 0.85


def test_the_same_seed_finds_the_same(table: Path) -> None:
    once, again = (
        search.search(problem(table, "fare", "regression"), trials=4, models=[LINEAR, "boosting"])
        for _ in range(2)
    )
    assert [(one.name, one.parameters, one.metrics) for one in once] == [
        (one.name, one.parameters, one.metrics) for one in again
    ]


def test_the_result_is_never_worse_than_the_linear_model(table: Path) -> None:
    fare = problem(table, "fare", "regression", objective="meanAbsoluteError")
    match = search.search(fare, trials=3)
    linear = next(one for one in match if one.model == LINEAR)
    assert match[0].metrics["meanAbsoluteError"] <= linear.metrics["meanAbsoluteError"]


def test_no_candidate_begins_once_the_time_is_over_but_there_is_one(table: Path) -> None:
    match = search.search(problem(table, "fare", "regression"), trials=50, seconds=0.0)
    assert [one.model for one in match] == [LINEAR]


def test_a_column_is_a_number_a_category_or_dropped_with_a_reason(table: Path) -> None:
    looked = problem(table, "paid", "classification").columns
    assert (looked.numeric, looked.categories) == (("distance", "hour"), ("district",))
    assert "taken for free text" in looked.dropped["remark"]
    told = Problem.of(
        columns.read([table]), "paid", "classification", kinds={"hour": columns.CATEGORY}
    )
    assert told.columns.categories == ("hour", "district")


def test_a_model_takes_texts_numbers_gaps_and_categories_it_has_not_seen(
    table: Path, tmp_path: Path
) -> None:
    fare = problem(table, "fare", "regression")
    TableModel.of(fare, search.search(fare, trials=1)[0]).save(tmp_path)
    model = TableModel.load(tmp_path)
    same = [{"distance": 4, "hour": 7, "district": "north"}]
    same += [{"distance": "4.0", "hour": "7", "district": "north", "unknown": 1}]
    first, second = model.predict(same)
    assert first == second == pytest.approx(15, abs=1.0)
    assert np.isfinite(model.predict([{}, {"district": "moon", "distance": None}])).all()
    assert model.margins[0] < 0 < model.margins[1]
    with pytest.raises(BadData, match=r"column 'hour': 'noon' is not a number"):
        model.predict([{"hour": "noon"}])


def test_a_column_that_numbers_the_rows_is_dropped_unless_it_is_told_to_be_a_number() -> None:
    rows = pd.DataFrame({"id": [str(each + 7) for each in range(60)], "y": ["1", "2"] * 30})
    rows["x"] = [str(each**2) for each in range(60)]
    assert columns.Columns.of(rows, "y").dropped == {"id": "taken for the rows' numbers"}
    told = columns.Columns.of(rows, "y", {"id": columns.NUMERIC})
    assert told.numeric == ("id", "x")


@pytest.mark.parametrize(
    ("target", "task", "words"),
    [
        ("price", "regression", "there is no column 'price'"),
        ("district", "regression", "'district': '.*' is not a number"),
        ("remark", "classification", "has one row; 2 are needed"),
    ],
)
def test_a_target_that_does_not_fit_is_refused(
    table: Path, target: str, task: str, words: str
) -> None:
    with pytest.raises(BadData, match=words):
        search.search(Problem.of(columns.read([table]), target, task), trials=1)


def test_files_that_are_no_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    (tmp_path / "header.csv").write_text("a,b\n")
    for name in ("empty.csv", "picture.csv", "header.csv"):
        with pytest.raises(BadData):
            columns.read([tmp_path / name])


@pytest.mark.slow
@pytest.mark.skipif("TITANIC_REAL" not in os.environ, reason="TITANIC_REAL names no folder")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_real_passengers_are_predicted_at_least_as_well_as_by_a_line(seed: int) -> None:
    folder = Path(os.environ["TITANIC_REAL"])
    rows, tested = (columns.read([folder / f"titanic_{part}.csv"]) for part in ("train", "test"))
    known = Problem.of(rows, "Survived", metrics.CLASSIFICATION, seed=seed)
    match = search.search(known, trials=30)
    line = next(one for one in match if one.model == LINEAR)
    assert match[0].metrics["logLoss"] <= line.metrics["logLoss"]
    truth = known.truth(tested)
    best, linear = (
        metrics.of(known.task, truth, TableModel.of(known, one).predict(tested))
        for one in (match[0], line)
    )
    uncertainty = (best["accuracy"] * (1 - best["accuracy"]) / len(truth)) ** 0.5
    print(f"seed {seed}: {match[0].name}", match[0].metrics, line.metrics, best, linear, sep="\n")
    assert best["accuracy"] >= linear["accuracy"] - uncertainty


def test_a_candidate_that_takes_too_long_has_no_metrics(table: Path) -> None:
    paid = problem(table, "paid", "classification")
    match = search.search(paid, trials=2, candidate_seconds=1e-9)
    assert [one.metrics for one in match] == [{}, {}]


def test_only_the_models_that_are_named_are_tried(table: Path) -> None:
    paid = problem(table, "paid", "classification")
    (one,) = search.search(paid, trials=1, models=["boosting"])
    assert one.model == "boosting"
