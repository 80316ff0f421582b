"""Columns become features with the numbers of the training rows alone, or are left out by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lesson.own_table.features import MOST_CATEGORIES, UNSEEN, Feature, make_feature
from lesson.own_table.kinds import read_column


def feature(values: list[Any], name: str = "c", train: int | None = None) -> Feature:
    """The feature of a column whose first rows are the training rows."""
    is_training = np.arange(len(values)) < (len(values) if train is None else train)
    return make_feature(read_column(pd.Series(values, dtype=object, name=name)), is_training)


def test_numbers_are_filled_in_and_scaled_with_those_of_the_training_rows() -> None:
    made = feature(["1", "2", None, "6", "1000", None], train=4)
    assert made.fitted == {
        "name": "c",
        "fill": 2.0,
        "mean": 2.75,
        "scale": pytest.approx(1.9202864),
    }
    assert made.values.dtype == np.float32
    np.testing.assert_allclose(made.values[:4].mean(), 0, atol=1e-6)
    np.testing.assert_allclose(made.values[:4].std(), 1, atol=1e-6)
    np.testing.assert_allclose(made.values[4:], (np.array([1000, 2]) - 2.75) / 1.9203, rtol=1e-4)


def test_words_are_coded_in_their_order_with_those_of_the_training_rows() -> None:
    made = feature(["S", "C", "S", None, "Q"], train=4)
    assert made.fitted["categories"] == ["C", "S"] and made.fitted["fill"] == "S"
    codes = made.values * made.fitted["scale"] + made.fitted["mean"]
    np.testing.assert_allclose(codes, [1, 0, 1, 1, UNSEEN], atol=1e-6)


def test_a_gap_among_true_and_false_is_filled_with_the_more_frequent() -> None:
    assert feature(["True", "True", "False", "False", None]).fitted["fill"] == 0
    assert feature(["True", "True", "False", None]).fitted["fill"] == 1


def test_so_many_words_as_one_number_can_tell_apart() -> None:
    states = [f"state {number}" for number in range(MOST_CATEGORIES)]
    assert not feature(states * 3).problem
    assert "51 different words, such as 'one more'" in feature([*states, "one more"] * 3).problem
    assert "group them into at most 50" in feature([f"{n} kinds" for n in range(1000)] * 3).problem
    assert "group them into at most 4" in feature(["a", "b", "c", "d", "e", "a", "b", "c"]).problem


@pytest.mark.parametrize(
    ("values", "name", "problem"),
    [
        (["7", "7", "7"], "c", "it is the same in all training rows"),
        (["x", "x", None], "c", "it is the same in all training rows"),
        (["0.1"] * 7, "c", "it is the same in all training rows"),  # a mean that rounding moves
        (["1e20", "100000000000000100000"], "c", "it is the same in all training rows"),
        (["1e-300", "2e-300"], "c", "it is the same in all training rows"),
        ([None, None, None], "c", "it has no values"),
        (["ann", "bo", "cy"], "c", "its words are all different"),
        (["4", "6", "5"], "c", "it numbers the rows"),
        (["0", "1", "2"], "Unnamed: 0", "it numbers the rows"),
        (["40", "6", "500"], "PassengerId", "it numbers the rows"),
        (["40", "6", "500"], "customer_id", "it numbers the rows"),
        (["40", "6", "500"], "ID", "it numbers the rows"),
        (["12%", "7%"], "c", "it holds '12%'"),
    ],
)
def test_a_column_without_use_is_left_out(values: list[Any], name: str, problem: str) -> None:
    made = feature(values, name)
    assert made.problem.startswith(problem) and not made.fitted and not len(made.values)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (["40", "6", "500"], "paid"),
        (["4.5", "5.5", "6.5"], "id"),
        (["4", "5", "5"], "id"),
        (["4", "5", None, "6"], "c"),
        (["a", "b", "a", "b"], "c"),
    ],
)
def test_a_column_that_looks_a_bit_like_an_id_is_used(values: list[Any], name: str) -> None:
    assert not feature(values, name).problem


def test_a_column_of_which_only_validation_rows_have_values_is_left_out() -> None:
    assert feature([None, None, "5", "6"], train=2).problem == "no training row has a value"


def test_validation_rows_that_float32_cannot_hold_are_not_written() -> None:
    made = feature(["1e-30", "2e-30", "1e30"], train=2)
    assert made.problem == "its validation rows are too far from its training rows"
