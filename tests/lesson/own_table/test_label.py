"""The label decides what is learned: classes, or a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lesson import LessonError
from lesson.own_table.label import make_y, read_label, split_rows


def column(values: list[Any], times: int = 1) -> pd.Series:
    return pd.Series(values * times, dtype=object, name="target")


@pytest.mark.parametrize(
    ("values", "classes", "numbers"),
    [
        (["yes", "no"], ["no", "yes"], [1, 0]),
        (["True", "False"], [False, True], [1, 0]),
        ([True, False], [False, True], [1, 0]),
        (["1", "0"], [0, 1], [1, 0]),
        (["1.0", "0.0"], [0, 1], [1, 0]),
        (["2", "0", "1"], [0, 1, 2], [2, 0, 1]),
        (["setosa", "virginica", "größer"], ["größer", "setosa", "virginica"], [1, 2, 0]),
    ],
)
def test_words_booleans_and_numbers_from_0_on_are_classes(
    values: list[Any], classes: list[Any], numbers: list[int]
) -> None:
    label = read_label(column(values, 5))
    assert (label.classes, label.numbers.tolist()) == (classes, numbers * 5)
    assert [type(each) for each in label.classes] == [type(each) for each in classes]
    about, y = make_y(label, split_rows(label))
    assert about.get("classes", [0, 1, 2][: len(classes)]) == classes
    assert y.dtype == np.int64 and y.tolist() == numbers * 5


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "3"],  # not from 0 on
        ["0", "2", "3"],  # 1 is missing
        ["0.5", "1.5"],
        ["-1", "1"],
        [str(number) for number in range(21)] * 5,  # a count
        [str(number) for number in range(19)],  # too few rows for 19 classes
    ],
)
def test_other_numbers_are_a_regression(values: list[str]) -> None:
    label = read_label(column(values, 4))
    assert label.classes == []
    is_training = split_rows(label)
    about, y = make_y(label, is_training)
    numbers = np.array(values * 4, dtype=float)
    assert about["mean"] == pytest.approx(numbers[is_training].mean())
    assert about["scale"] == pytest.approx(numbers[is_training].std())
    assert y.dtype == np.float32
    np.testing.assert_allclose(y * about["scale"] + about["mean"], numbers, rtol=1e-5, atol=1e-5)


def test_the_guess_can_be_overridden() -> None:
    quality = column(["3", "5", "8"], 5)
    assert read_label(quality).classes == []
    label = read_label(quality, classes=True)
    assert label.classes == [3, 5, 8] and set(label.numbers) == {0, 1, 2}
    assert make_y(label, split_rows(label))[0] == {"name": "target", "classes": [3, 5, 8]}
    assert read_label(column(["0.5", "1"], 5), classes=True).classes == [0.5, 1]
    assert read_label(column(["0", "1"], 5), classes=False).classes == []
    assert read_label(column(["True", "False"], 5), classes=False).numbers.tolist() == [1, 0] * 5


@pytest.mark.parametrize(
    ("values", "classes", "message"),
    [
        (["yes", "yes"], None, "target is yes in every row; there is nothing to tell apart"),
        (["2.5", "2.5"], None, "target is 2.5 in every row"),
        (["True", "True"], None, "target is True in every row"),
        (["1", "unknown"], None, "target cannot be the label: it holds '1' and 'unknown'"),
        (["12%", "7%"], None, "target cannot be the label: it holds '12%'"),
        (["2026-01-05", "2026-01-06"], None, "target cannot be the label: it holds dates"),
        (["1", "inf"], None, "target cannot be the label: it holds 'inf'"),
        (["yes", "no"], False, "target holds words; a regression needs a number"),
    ],
)
def test_a_label_that_cannot_be_learned_is_refused(
    values: list[str], classes: bool | None, message: str
) -> None:
    with pytest.raises(LessonError, match=message):
        read_label(column(values, 10), classes)


def test_too_few_rows_for_the_classes_are_refused() -> None:
    names = column([f"name {number}" for number in range(1000)])
    with pytest.raises(LessonError, match="1000 classes in 1000 rows; give at least 5 rows"):
        read_label(names)
    with pytest.raises(LessonError, match="classes in 200 rows"):
        read_label(column([str(number / 7) for number in range(200)]), classes=True)


def test_each_class_has_the_same_share_of_both_parts() -> None:
    label = read_label(column(["rare"] * 10 + ["common"] * 90))
    is_training = split_rows(label)
    assert is_training.sum() == 80
    assert label.numbers[~is_training].tolist().count(1) == 2
    np.testing.assert_array_equal(is_training, split_rows(label))


def test_the_only_row_of_a_class_is_a_training_row() -> None:
    for place in range(30):
        values = ["a", "b"] * 15
        values[place] = "c"
        assert split_rows(read_label(column(values)))[place]
    assert split_rows(read_label(column(["a"] * 9 + ["b"])))[9]


def test_numbers_that_differ_only_among_the_validation_rows_are_refused() -> None:
    values = np.full(20, 5.5)
    is_training = split_rows(read_label(column([str(each) for each in range(20)])))
    values[~is_training] = 7
    label = read_label(column(values.tolist()))
    with pytest.raises(LessonError, match="target is the same in all training rows"):
        make_y(label, is_training)
    values[is_training] = np.linspace(0, 1e-30, is_training.sum())
    values[~is_training] = 1e30
    with pytest.raises(LessonError, match="values too far apart"):
        make_y(read_label(column(values.tolist())), is_training)
