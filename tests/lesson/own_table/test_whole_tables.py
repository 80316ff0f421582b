"""Any table becomes archives that train_nn.py reads, and a preparation that serve_nn.py applies."""

from __future__ import annotations

import csv as csv_files
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from lesson import LessonError
from lesson.own_table.arrays import Arrays, make_arrays
from lesson.own_table.report import describe
from lesson.preparation import Prepared, apply_json, prepare, read_file
from testing.examples import with_examples
from tests.training.support import train
from training import serve_nn, train_nn

TITANIC = Path(__file__).parents[3] / "data" / "titanic_train.csv"
ROWS = 20


def table(**columns: Any) -> pd.DataFrame:
    """A table that can be prepared, with some more columns."""
    own = {"size": np.linspace(1.5, 9, ROWS), "target": ["yes", "no"] * (ROWS // 2)}
    return pd.DataFrame({**own, **columns})


def write(content: pd.DataFrame | str | bytes, folder: Path) -> Path:
    csv = folder / "own.csv"
    if isinstance(content, pd.DataFrame):
        content = content.to_csv(index=False)
    csv.write_bytes(content if isinstance(content, bytes) else content.encode())
    return csv


def read(made: Prepared) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The preparation and the arrays of both archives."""
    train, val = np.load(made.train), np.load(made.val)
    assert str(train["preparation"]) == str(val["preparation"])
    arrays = {name: each[name] for each in (train, val) for name in each if name[1] == "_"}
    return json.loads(str(train["preparation"])), arrays


def used(made: Prepared) -> list[str]:
    return [feature["name"] for feature in read(made)[0]["features"]]


def test_the_archives_hold_what_train_nn_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = prepare(
        write(table(colour=["red", "blue", None, "red"] * 5), tmp_path), tmp_path, "target"
    )
    preparation, arrays = read(made)
    assert (made.train_rows, made.val_rows) == (16, 4)
    assert arrays["X_train"].shape == (16, 2) and arrays["X_val"].shape == (4, 2)
    assert arrays["X_train"].dtype == np.float32 and arrays["y_train"].dtype == np.int64
    assert preparation["label"] == {"name": "target", "classes": ["no", "yes"]}
    assert capsys.readouterr().out.splitlines() == [
        "20 rows: 16 for training, 4 for validation",
        "label target: 2 classes: 0 is no, 1 is yes",
        "  train_nn.py predicts it unchanged: LABELS = (0, 1)",
        "",
        "column  kind    gaps  fill  codes in order; mean, scale",
        "size    number     0  5.25  mean 5.299, scale 2.437",
        "colour  words      5   red  blue, red; mean 0.75, scale 0.433",
    ]
    assert train(made.train, tmp_path / "run", "--epochs", 2, "--val", made.val).code == 0


def test_a_regression_is_in_its_unit_again_by_what_the_preparation_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = np.round(np.linspace(100, 900, ROWS) ** 1.1, 2)
    made = prepare(write(table(price=prices), tmp_path), tmp_path, "price")
    preparation, arrays = read(made)
    label = preparation["label"]
    assert list(label) == ["name", "mean", "scale"]
    y = np.concatenate([arrays["y_train"], arrays["y_val"]])
    np.testing.assert_allclose(sorted(y * label["scale"] + label["mean"]), prices, rtol=1e-5)
    np.testing.assert_allclose(
        [arrays["y_train"].mean(), arrays["y_train"].std() - 1], 0, atol=1e-5
    )
    assert "LABELS = (), and a network with 1 output" in capsys.readouterr().out


def test_the_report_says_how_to_choose_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    grades = table(grade=[1, 2, 3, 4] * 5, level=[0, 1, 2, 3] * 5)
    assert "instead: prepare(..., classes=True)" in describe(make_arrays(grades, "grade", None))
    report = describe(make_arrays(grades, "level", None))
    assert "LABELS = (0, 1, 2, 3), and a network with 4 outputs" in report
    assert "instead: prepare(..., classes=False)" in report
    report = describe(make_arrays(grades, "grade", True))
    assert "4 classes: 0 is 1, 1 is 2, 2 is 3, 3 is 4" in report


def test_rows_without_a_label_are_left_out_and_said() -> None:
    labels = ["yes", None, "no", "yes"] * 5
    made = make_arrays(table(target=labels), "target", None)
    assert len(made.y) == 15 and "because they have no label: 5 rows" in describe(made)


def test_a_class_with_one_row_is_said() -> None:
    made = make_arrays(table(target=["yes", "no"] * 9 + ["yess", "no"]), "target", None)
    assert "in one row only, which is for training: yess" in describe(made)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["7"] * ROWS, "the same in all training rows"),
        ([None] * ROWS, "it has no values"),
        ([f"name {n}" for n in range(ROWS)], "only names the rows"),
        (range(1, ROWS + 1), "it numbers the rows"),
        ([f"town {n // 2}" for n in range(ROWS)], "different words, such as 'town 0'"),
        (["12%", "7%"] * 10, "it holds '12%'"),
        (["$1,200", "$7"] * 10, "it holds '$1,200'"),
        (["1,234", "7"] * 10, "it holds '1,234'"),
        (["12", "unknown"] * 10, "it holds '12' and 'unknown'"),
        (["inf", "1"] * 10, "it holds 'inf'"),
        (["2026-01-05", "2026-01-06"] * 10, "it holds dates or times such as '2026-01-05'"),
        (["12:30", "12:45"] * 10, "it holds dates or times such as '12:30'"),
    ],
)
def test_a_column_that_cannot_be_used_is_left_out_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], values: Any, problem: str
) -> None:
    made = prepare(write(table(odd=values), tmp_path), tmp_path, "target")
    assert used(made) == ["size"]
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("odd"))
    assert "left out" in line and problem in line


@pytest.mark.parametrize("name", ["größe in €", "小さい", "Target", "a,b", 'say "x"', "two\nlines"])
def test_a_column_may_have_any_name(tmp_path: Path, name: str) -> None:
    made = prepare(write(table(**{name: [1, 2, 4, 8] * 5}), tmp_path), tmp_path, "target")
    assert used(made) == ["size", name]


def test_a_byte_order_mark_and_newlines_in_quotes_are_no_part_of_the_table(tmp_path: Path) -> None:
    text = table(note=["two\nlines", "one"] * 10).to_csv(index=False)
    made = prepare(write(f"\ufeff{text}", tmp_path), tmp_path, "target")
    preparation, _ = read(made)
    assert used(made) == ["size", "note"]
    assert preparation["features"][1]["categories"] == ["one", "two\nlines"]


def test_a_wide_table_is_prepared(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).normal(size=(ROWS, 500))
    wide = table(**{f"c{place}": numbers[:, place] for place in range(500)})
    assert read(prepare(write(wide, tmp_path), tmp_path, "target"))[1]["X_train"].shape == (16, 501)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "cannot be read as a CSV table"),
        ("size,target\n", "it has 0 rows with a target; give at least 10"),
        (table(target=None), "it has 0 rows with a target"),
        (table().head(9), "it has 9 rows with a target"),
        (table(target="yes"), "target is yes in every row"),
        (table().rename(columns={"target": "Target"}), "but 'Target'; write label='Target'"),
        (table().rename(columns={"target": " target"}), "but ' target'; write label=' target'"),
        (table().drop(columns="target"), "no column 'target'; name one of size"),
        (table().to_csv(index=False, sep=";"), "separates its columns with semicolons"),
        (
            table().to_csv(index=False, sep=";", decimal=","),
            "separates its columns with semicolons",
        ),
        (table().to_csv(index=False, sep="\t"), "separates its columns with tabs"),
        (table(a=1, b=2).to_csv(index=False).replace(",b\n", ",a\n"), "has column a twice"),
        ("size,target\n" + "1,yes,7\n2,no,8\n" * 10, "has longer lines than its first"),
        (table().drop(columns="size"), "no column but target can be used; there is none"),
        (table(size=3), "no column but target can be used; size: it is the same"),
        (b"\xff\xfe\x00binary", "cannot be read as a CSV table"),
    ],
)
def test_a_table_that_cannot_be_prepared_is_refused(
    tmp_path: Path, content: pd.DataFrame | str | bytes, message: str
) -> None:
    with pytest.raises(LessonError, match=message):
        prepare(write(content, tmp_path), tmp_path, "target")
    assert not list(tmp_path.glob("*.npz*"))


def test_without_a_label_the_refusal_says_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match=r"has no column Survived.*prepare\(\.\.\., label="):
        prepare(write(table(), tmp_path), tmp_path)


def test_the_passengers_are_a_table_like_any_other(tmp_path: Path) -> None:
    made = prepare(TITANIC, tmp_path, "Survived")
    assert used(made) == ["Pclass", "Sex", "Age", "SibSp", "Parch", "Fare", "Embarked"]
    assert read(made)[0]["label"] == {"name": "Survived"}


@pytest.mark.parametrize(
    ("name", "label", "features"),
    [("breast_cancer", [0, 1], 30), ("wine", [0, 1, 2], 13), ("diabetes", [], 10)],
)
def test_public_tables_are_prepared(
    tmp_path: Path, name: str, label: list[int], features: int
) -> None:
    import sklearn.datasets

    public = getattr(sklearn.datasets, f"load_{name}")(as_frame=True).frame
    table = read_file(write(public, tmp_path), as_text=True)
    made = make_arrays(table, "target", None)
    assert (made.label.classes, made.X.shape) == (label, (len(public), features))
    require_honest(made, public)


# ---- whatever the table is -----------------------------------------------------------------------
def require_honest(made: Arrays, raw: pd.DataFrame) -> None:
    """Require scaled training rows, and of the raw rows what the preparation makes of them."""
    assert made.X.dtype == np.float32 and np.isfinite(made.X).all() and np.isfinite(made.y).all()
    training = made.X[made.is_training].astype(float)
    np.testing.assert_allclose(training.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(training.std(axis=0), 1, atol=1e-4)
    name = json.loads(made.preparation)["label"]["name"]
    rows = raw[raw[name].notna()].drop(columns=name).to_dict("records")
    assert len(rows) == len(made.X)
    for row, prepared, is_training in zip(rows, made.X, made.is_training, strict=True):
        try:
            applied = apply_json(made.preparation, [row])[0]
        except LessonError as problem:  # a word that only a validation row has
            assert not is_training and "training saw only" in str(problem)
        else:
            np.testing.assert_allclose(applied, prepared, rtol=1e-5, atol=1e-5)


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6)
numbers = st.one_of(
    st.integers(-5, 5).map(str),
    st.integers().map(str),
    st.floats(allow_nan=False).map(repr),
    st.floats(-1e6, 1e6).map(lambda number: f"{number:.2f}"),
)
cells = st.one_of(
    st.just(numbers),
    st.lists(texts, min_size=1, max_size=4).map(st.sampled_from),
    st.just(st.sampled_from(["True", "False"])),
    st.just(st.sampled_from(["1", "x", "inf", "7%", "$3", "2026-01-05", "12:30", "007", "-", " "])),
    texts.map(st.just),
)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """A heading and rows; the label is the first column."""
    rows = draw(st.integers(10, 30))
    headings = draw(st.lists(texts, min_size=1, max_size=5, unique=True))
    label = draw(
        st.sampled_from([["a", "b"], ["0", "1", "2"], ["1", "2.5", "7"], ["True", "False"]])
    )
    columns = [draw(st.lists(st.sampled_from([*label, ""]), min_size=rows, max_size=rows))]
    for _ in headings:
        cell = draw(cells) | st.just("")
        columns.append(draw(st.lists(cell, min_size=rows, max_size=rows)))
    return [["label", *headings], *map(list, zip(*columns, strict=True))]


@with_examples(200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(tables())
def test_any_table_is_refused_in_a_sentence_or_prepared_honestly(rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv_files.writer(text).writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        csv = write(text.getvalue(), Path(folder))
        try:
            made = make_arrays(read_file(csv, as_text=True), "label", None)
        except LessonError:
            return
        describe(made)
        require_honest(made, pd.read_csv(csv, index_col=False))
        assert read(prepare(csv, folder, "label"))[1]["X_val"].shape[1] == made.X.shape[1]


def test_the_program_that_answers_prepares_raw_rows_in_the_same_way(tmp_path: Path) -> None:
    mixed = table(
        colour=["red", "blue", None, "red"] * 5, big=[True, False] * 10, code=["07", "11"] * 10
    )
    csv = write(mixed, tmp_path)
    made = make_arrays(read_file(csv, as_text=True), "target", None)
    network = train_nn.build_model(made.X.shape[1], [4], seed=1)
    saved = {"model": network.state_dict(), "features": made.X.shape[1], "hidden": [4]}
    torch.save({**saved, "preparation": made.preparation}, tmp_path / "model.pt")
    model = serve_nn.model_fn(str(tmp_path))
    lines = pd.read_csv(csv).drop(columns="target").to_json(orient="records", lines=True)
    rows = model.rows(serve_nn.input_fn(lines, serve_nn.LINES))
    np.testing.assert_array_equal(rows, made.X)
