"""Outputs that depend on the processor's rounding: near enough passes, everything else fails."""

from __future__ import annotations

import pytest

from tests.within import settle, tolerance

PAGE = "run_name  metric.loss\n    fast       0.3812\n    slow       0.3994\n"
STATES = "# The last digits depend on the processor: within 0.02\nprint(losses)"


@pytest.mark.parametrize(
    ("source", "within"),
    [
        (STATES, 0.02),
        ("print(1)\n# The last digits depend on the processor: within 1\n", 1),
        ("print(losses)  # within 0.02", 0),
        ("# The last digits depend on the weather: within 0.02", 0),
    ],
)
def test_a_cell_states_its_tolerance_in_a_comment(source: str, within: float) -> None:
    assert tolerance(source) == within


@pytest.mark.parametrize(
    "printed",
    [
        PAGE,
        PAGE.replace("0.3812", "0.3999").replace("0.3994", "0.3812"),
        PAGE.replace("0.3812", "0.3612"),  # by exactly as much as is stated
        PAGE.replace(" 0.3812", "-0.3812").replace("-0.3812", " 0.381"),  # a column's width
        PAGE.replace("0.3812", "3.8e-01"),
    ],
)
def test_what_is_near_enough_is_the_same(printed: str) -> None:
    assert settle(printed, PAGE, 0.02) == PAGE


@pytest.mark.parametrize(
    "printed",
    [
        PAGE.replace("0.3994", "0.4195"),  # just outside
        PAGE.replace("0.3812", "-0.3812"),
        PAGE.replace("0.3812", "nan"),
        PAGE.replace("    slow       0.3994\n", ""),
        PAGE.replace("fast", "late"),
        PAGE + "0.1\n",
    ],
)
def test_nothing_else_is(printed: str) -> None:
    assert settle(printed, PAGE, 0.02) != PAGE


@pytest.mark.parametrize("text", ["121 of 143", "version 2.10.1", "v0.39", "0.39b", "fold_0.39"])
def test_whole_numbers_and_names_are_compared_as_they_stand(text: str) -> None:
    assert settle(text.replace("9", "8").replace("143", "142").replace("10", "11"), text, 9) != text


def test_without_a_tolerance_everything_is() -> None:
    printed = PAGE.replace("0.3812", "0.3813")
    assert settle(printed, PAGE, 0.0) == printed
