"""What a column holds is found, whatever its values look like."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lesson.own_table.kinds import BOOLEAN, NUMBER, WORDS, read_column


def column(values: list[Any]) -> pd.Series:
    return pd.Series(values, dtype=object, name="c")


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1", None, "-2.5"], [1, np.nan, -2.5]),
        (["1e3", " 8", "+.5"], [1000, 8, 0.5]),
        (["1_000", "2", "3"], [1000, 2, 3]),  # as float() reads it, and so serve_nn.py
        ([1, None, 2.5], [1, np.nan, 2.5]),
        ([Decimal("7.25"), None, Decimal(8)], [7.25, np.nan, 8]),
        ([2**70, 1, 2], [2.0**70, 1, 2]),
    ],
)
def test_numbers_are_numbers(values: list[Any], numbers: list[float]) -> None:
    read = read_column(column(values))
    assert (read.kind, read.remark) == (NUMBER, "")
    np.testing.assert_array_equal(read.values, numbers)


def test_leading_zeros_are_read_as_numbers_and_said() -> None:
    read = read_column(column(["007", "010", "01234"]))
    assert read.values.tolist() == [7, 10, 1234]
    assert read.remark == "007 is read as 7"
    assert read_column(column(["0", "0.5", "-0.1"])).remark == ""


@pytest.mark.parametrize(
    "values", [["True", None, "False"], ["true", None, "FALSE"], [True, None, False]]
)
def test_true_and_false_are_1_and_0(values: list[Any]) -> None:
    read = read_column(column(values))
    assert read.kind == BOOLEAN
    np.testing.assert_array_equal(read.values, [1, np.nan, 0])


@pytest.mark.parametrize(
    "values",
    [
        ["yes", "no", None],
        ["a, b", "two\nlines", 'with "quotes"'],
        ["1st", "2nd", "3rd"],
        ["größer", "小さい", "🙂"],
        ["version 1.2", "10-20", "192.168.0.1"],
        ["True", "maybe", None],
        ["2026-01-05", "later", None],  # not all of them are dates
    ],
)
def test_words_are_words(values: list[Any]) -> None:
    read = read_column(column(values))
    assert (read.name, read.kind, read.remark) == ("c", WORDS, "")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([None, np.nan, None], "it has no values"),
        (["1", "inf", "2"], "it holds 'inf', which float32 cannot hold"),
        ([1.0, -np.inf], "it holds '-inf', which float32 cannot hold"),
        (["1e999", "1"], "it holds '1e999', which float32 cannot hold"),
        (["1e39", "1"], "it holds '1e39', which float32 cannot hold"),
        (["12", "unknown"], "it holds '12' and 'unknown': leave gaps empty"),
        (["29.85", " "], "it holds '29.85' and ' ': leave gaps empty"),
        (["0", "1", "3+"], "it holds '0' and '3.'"),
        (["yes", True], "it holds True: write words or numbers"),
        (["12%", "7 %"], "it holds '12%': write digits and a decimal point only"),
        (["$12", "-$7.50"], "it holds '.12': write digits"),
        (["12 €", "7,50 €"], "it holds '12 €': write digits"),
        (["EUR 12", "EUR 7"], "it holds 'EUR 12': write digits"),
        (["1,234", "999", "12,345,678.90"], "it holds '1,234': write digits"),
        (["1.234,5", "1.234.567"], "it holds '1.234,5': write digits"),
        (["1 234", "12\u202f345"], "it holds '1 234': write digits"),
        (["7,25", "8"], "it holds '7,25': write digits"),
        (["(1,234)", "56"], "it holds '.1,234.': write digits"),
        (["2026-01-05", None, "2026-11-27"], "it holds dates or times such as '2026-01-05'"),
        (["2026-01-05T12:30:00Z", "2026-01-05 12:30"], "it holds dates or times"),
        (["27.11.2026", "1.2.26"], "it holds dates or times"),
        (["11/27/2026", "2026/11/27"], "it holds dates or times"),
        (["12:30", "7:05 pm"], "it holds dates or times such as '12:30'"),
        ([datetime.date(2026, 1, 5)], "it holds dates or times such as '2026-01-05'"),
        ([datetime.time(12, 30)], "it holds dates or times such as '12:30:00'"),
        ([pd.Timestamp("2026-01-05", tz="UTC")], "it holds dates or times"),
        ([["a"], None], "it holds ..a..: write words or numbers"),
        ([b"a", None], "it holds b'a': write words or numbers"),
    ],
)
def test_what_a_network_cannot_use_is_left_out_with_a_reason(
    values: list[Any], problem: str
) -> None:
    read = read_column(column(values))
    assert read.kind == ""
    assert re.match(problem, read.remark), read.remark
