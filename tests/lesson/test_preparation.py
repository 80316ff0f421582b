"""The preparation is honest, agrees with scikit-learn, and travels as JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lesson import LessonError, preparation
from lesson.preparation import (
    FEATURES,
    apply_json,
    inputs,
    make_preparation,
    prepare,
    read_passengers,
    split,
    to_json,
)
from testing.examples import with_examples

CSV = Path(__file__).parents[2] / "data" / "titanic_train.csv"


@pytest.fixture(scope="module")
def passengers() -> pd.DataFrame:
    return read_passengers(CSV)


def test_the_archives_hold_the_arrays_that_train_nn_reads(tmp_path: Path) -> None:
    made = prepare(CSV, tmp_path)
    assert (made.train_rows, made.val_rows) == (569, 143)
    train, val = np.load(made.train), np.load(made.val)
    assert train["X_train"].shape == (569, len(FEATURES)) and train["y_train"].shape == (569,)
    assert val["X_val"].shape == (143, len(FEATURES)) and val["y_val"].shape == (143,)
    features = json.loads(str(train["preparation"]))["features"]
    assert [feature["name"] for feature in features] == list(FEATURES)
    assert str(train["preparation"]) == str(val["preparation"])


def test_nothing_of_the_validation_part_enters_the_preparation(passengers: pd.DataFrame) -> None:
    train, val = split(passengers)
    before = to_json(make_preparation().fit(inputs(train)))
    changed = passengers.copy()
    changed.loc[val.index, "Age"] = 999.0
    changed.loc[val.index, "Embarked"] = "Q"
    after = to_json(make_preparation().fit(inputs(split(changed)[0])))
    assert before == after


def test_the_training_part_has_mean_zero_and_deviation_one(tmp_path: Path) -> None:
    X = np.load(prepare(CSV, tmp_path).train)["X_train"]
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=1e-12)


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = prepare(CSV, tmp_path / "a"), prepare(CSV, tmp_path / "b")
    assert first.train.read_bytes() == second.train.read_bytes()
    assert first.val.read_bytes() == second.val.read_bytes()


def test_json_prepares_every_passenger_as_scikit_learn_does(passengers: pd.DataFrame) -> None:
    train, val = split(passengers)
    fitted = make_preparation().fit(inputs(train))
    raw = val.to_dict("records")
    assert any(passenger["Age"] != passenger["Age"] for passenger in raw)  # gaps are among them
    np.testing.assert_allclose(
        apply_json(to_json(fitted), raw), fitted.transform(inputs(val)), rtol=1e-6, atol=1e-6
    )


raw_passenger = st.fixed_dictionaries(
    {
        "Pclass": st.integers(1, 3),
        "Sex": st.sampled_from(["male", "female", None]),
        "Age": st.none() | st.floats(0, 100),
        "SibSp": st.integers(0, 8),
        "Parch": st.integers(0, 9),
        "Fare": st.none() | st.floats(0, 600),
        "Embarked": st.sampled_from(["S", "C", "Q", None]),
    }
)


@with_examples(50)
@given(raw=st.lists(raw_passenger, min_size=1, max_size=8))
def test_any_passengers_are_prepared_as_scikit_learn_does(raw: list[dict[str, Any]]) -> None:
    fitted = make_preparation().fit(inputs(split(read_passengers(CSV))[0]))
    frame = pd.DataFrame(raw, columns=list(FEATURES)).astype({"Age": float, "Fare": float})
    np.testing.assert_allclose(
        apply_json(to_json(fitted), raw), fitted.transform(inputs(frame)), rtol=1e-5, atol=1e-6
    )


def test_a_value_that_is_not_given_is_filled_in() -> None:
    preparation = to_json(make_preparation().fit(inputs(read_passengers(CSV))))
    features = {feature["name"]: feature for feature in json.loads(preparation)["features"]}
    row = apply_json(preparation, [{"Pclass": 3}])[0]
    age = features["Age"]
    assert row[2] == pytest.approx((age["fill"] - age["mean"]) / age["scale"])
    assert apply_json(preparation, []).shape == (0, len(FEATURES))


@pytest.mark.parametrize(
    ("passenger", "message"),
    [
        ({"Sex": "unknown"}, "Sex is 'unknown'; training saw only female, male"),
        ({"Age": "old"}, "Age is 'old'; give a number"),
        ({"Fare": float("inf")}, "Fare is inf; give a number"),
    ],
)
def test_a_passenger_that_training_cannot_have_seen_is_refused(
    passenger: dict[str, Any], message: str
) -> None:
    preparation = to_json(make_preparation().fit(inputs(read_passengers(CSV))))
    with pytest.raises(LessonError, match=message):
        apply_json(preparation, [passenger])


def table(**changes: Any) -> pd.DataFrame:
    """Twelve passengers in good order, some columns changed."""
    passengers = read_passengers(CSV).head(12).copy()
    return passengers.assign(**changes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file; name one that exists, seen from /"),
        ("", "cannot be read as a CSV table"),
        (b"\xff\xfe\x00binary", "cannot be read as a CSV table"),
        ("Survived,Pclass,Sex\n1,1,male\n", "no column Age, SibSp, Parch, Fare, Embarked"),
        (table().head(1), "has 1 rows"),
        (table().head(0), "has 0 rows"),
        (table(Survived="yes"), "Survived has values other than 0 and 1"),
        (table(Survived=[0, 2] * 6), "Survived has values other than 0 and 1"),
        (table(Survived=[None, 1] * 6), "Survived has values other than 0 and 1"),
        (table(Survived=[True, True, None] * 4), "Survived has values other than 0 and 1"),
        (table(Survived=1), "Survived is 1 in every row"),
        (table(Age=["old", 3] * 6), "column Age holds 'old'"),
        (table(Fare=["7,25", "8"] * 6), "column Fare holds '7,25'"),
        (table(Fare=[float("inf"), 1] * 6), "column Fare holds an infinite number"),
        (table(Age=None), "column Age has no values"),
        (table(Sex=None), "column Sex has no values"),
        (table(Age="1e999"), "column Age holds an infinite number"),
        (table(Age="2026-11-27"), "column Age holds '2026-11-27'"),
        (table().to_csv(index=False, sep=";"), "separates its columns with semicolons"),
        (table().to_csv(index=False, sep="\t"), "separates its columns with tabs"),
        (table().to_csv(index=False).replace("PassengerId", "Age"), "has column Age twice"),
    ],
)
def test_a_table_that_cannot_be_prepared_is_refused(
    tmp_path: Path, content: str | bytes | pd.DataFrame | None, message: str
) -> None:
    csv = tmp_path / "passengers.csv"
    if isinstance(content, pd.DataFrame):
        content.to_csv(csv, index=False)
    elif content is not None:
        csv.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LessonError, match=message):
        prepare(csv, tmp_path)
    assert not list(tmp_path.glob("*.npz*"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["S", 1] * 6, "column Embarked holds 'S' and 1; write all values as words"),
        ([Decimal(1), None] * 6, "column Embarked holds Decimal"),
        ([["S"], None] * 6, "column Embarked holds ..S"),
    ],
)
def test_values_that_no_code_can_be_given_to_are_refused(
    monkeypatch: pytest.MonkeyPatch, values: list[Any], message: str
) -> None:
    monkeypatch.setattr(preparation, "read_table", lambda _: table(Embarked=values))
    with pytest.raises(LessonError, match=message):
        read_passengers("bq://a.b.c")


TIMES = pd.to_datetime(["2026-11-27"] * 12)


def test_a_table_with_times_for_numbers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "read_table", lambda _: table(Fare=TIMES))
    with pytest.raises(LessonError, match="column Fare holds times; only numbers belong there"):
        read_passengers("bq://a.b.c")


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([True, None, False], [1, np.nan, 0]),
        ([True, False, False], [1, 0, 0]),
        (["7.25", None, " 8"], [7.25, np.nan, 8]),
        ([Decimal("7.25"), None, Decimal(8)], [7.25, np.nan, 8]),
        ([2**70, 1, 2], [2.0**70, 1, 2]),
    ],
)
def test_numbers_in_other_forms_are_numbers(
    monkeypatch: pytest.MonkeyPatch, values: list[Any], numbers: list[float]
) -> None:
    changed = table(Fare=pd.Series(values * 4, dtype=object))
    monkeypatch.setattr(preparation, "read_table", lambda _: changed)
    read = read_passengers("bq://a.b.c")["Fare"]
    assert read.dtype.kind == "f"
    np.testing.assert_array_equal(read, numbers * 4)


@pytest.mark.parametrize("label", [[True, False], ["1", "0"], [Decimal(1), Decimal(0)]])
def test_a_label_in_another_form_is_1_and_0(
    monkeypatch: pytest.MonkeyPatch, label: list[Any]
) -> None:
    changed = table(Survived=pd.Series(label * 6, dtype=object))
    monkeypatch.setattr(preparation, "read_table", lambda _: changed)
    assert read_passengers("bq://a.b.c")["Survived"].tolist() == [1, 0] * 6


def test_a_port_that_only_the_validation_part_has_gets_a_code_of_its_own(tmp_path: Path) -> None:
    passengers = read_passengers(CSV)
    passengers["Embarked"] = passengers["Embarked"].astype(object)
    passengers.loc[split(passengers)[1].index[0], "Embarked"] = "B"
    passengers.to_csv(tmp_path / "passengers.csv", index=False)
    made = prepare(tmp_path / "passengers.csv", tmp_path)
    assert np.isfinite(np.load(made.val)["X_val"]).all()


def test_archives_that_cannot_be_written_leave_the_older_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prepare(CSV, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    savez = np.savez

    def full(path: Path, **arrays: Any) -> None:
        if path.name == made.val.name:
            raise OSError(28, "No space left on device")
        savez(path, **arrays)

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(LessonError, match="No space left on device"):
        prepare(CSV, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("preparation", ["", "{}", "[]", "no JSON"])
def test_a_text_that_is_no_preparation_is_refused(preparation: str) -> None:
    with pytest.raises(LessonError, match="this is no preparation"):
        apply_json(preparation, [{"Age": 3}])


def test_a_passenger_without_any_feature_is_refused() -> None:
    preparation = to_json(make_preparation().fit(inputs(read_passengers(CSV))))
    with pytest.raises(LessonError, match="has none of the features Pclass, Sex"):
        apply_json(preparation, [{"age": 3, "sex": "male"}])
    assert apply_json(preparation, [{"Age": pd.NA, "Pclass": 1}]).shape == (1, 7)
