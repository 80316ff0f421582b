"""The program that a job runs: the files it writes, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_cloud.automl import train_tables
from local_cloud.automl.table_model import TableModel
from tests.automl.tables import rides


def run(tmp_path: Path, *words: str) -> Path:
    data = rides(tmp_path / "rides.csv", 120)
    output = tmp_path / "output"
    base = ["--data", str(data), "--output", str(output), "--trials", "1"]
    train_tables.main([*base, *words])
    return output


def test_it_writes_a_model_its_evaluation_the_candidates_and_statistics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = run(tmp_path, "--target", "fare", "--task", "regression")
    assert "96 rows" not in capsys.readouterr().out.splitlines()[0]  # validation trains, too
    written = {path.stem: json.loads(path.read_text()) for path in output.glob("*.json")}
    assert written["evaluation"]["rSquared"] > 0.5
    importance = written["evaluation"]["importance"]
    assert importance["distance"] > importance["district"] > importance["hour"]
    assert [one["name"] for one in written["candidates"]] == ["001 linear"]
    assert written["statistics"]["rows"] == 120
    columns = written["statistics"]["columns"]
    assert columns["distance"]["missing"] == 11 and columns["distance"]["type"] == "number"
    assert [columns[name]["type"] for name in ("district", "remark")] == ["category", "text"]
    assert TableModel.load(output / "model").target == "fare"


def test_the_latest_rows_can_be_tested_with_and_columns_chosen(tmp_path: Path) -> None:
    words = ["--target", "fare", "--task", "regression", "--only-kinds"]
    output = run(tmp_path, *words, "--kinds", '{"distance": "auto"}')
    assert TableModel.load(output / "model").columns.used == ("distance",)


def test_rows_are_split_by_a_column_or_by_time() -> None:
    import pandas as pd

    from local_cloud.automl.splits import Split

    words = [*["TRAIN", "TEST", "VALIDATE"] * 3, "UNASSIGNED"]
    rows = pd.DataFrame({"part": words, "day": [f"2026-01-{20 - day:02d}" for day in range(10)]})
    assert [*Split(column="part").parts(rows, 0)][:3] == ["training", "test", "validation"]
    assert [*Split(time="day").parts(rows, 0)] == ["test", "validation", *["training"] * 8]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "price"], "there is no column 'price'"),
        (["--target", "fare", "--split-column", "district"], "is not TRAIN, VALIDATE, TEST"),
        (["--target", "fare", "--time-column", "district"], "is not a time"),
        (["--target", "fare", "--objective", "auRoc"], "for regression there are"),
        (["--target", "fare", "--fractions", "1", "0", "0"], "no row for test"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(tmp_path: Path, words: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        run(tmp_path, "--task", "regression", *words)
