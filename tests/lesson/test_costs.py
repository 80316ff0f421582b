"""Estimates: the sum, and what is said about it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lesson import LessonError
from lesson.costs import Price, dollars, estimate, hours_in_words

MACHINE = Price(0.25, "https://example.org/prices", "2026-10-07", "read on the price page")
GPU = Price(0.5, "https://example.org/gpus", "", "second hand")


def test_the_sum_is_replicas_times_machine_and_gpus_times_hours() -> None:
    made = estimate(("box", MACHINE), gpu=("T4", GPU), gpu_count=2, replicas=3, hours=4)
    assert made.usd == 3 * (0.25 + 2 * 0.5) * 4
    assert made.usd_per_hour == 3 * (0.25 + 2 * 0.5)


@given(
    st.integers(1, 100),
    st.integers(1, 8),
    st.floats(0, 1e4),
    st.floats(0, 100),
    st.floats(0, 100),
)
def test_the_sum_holds_for_any_numbers(
    replicas: int, gpus: int, hours: float, machine: float, gpu: float
) -> None:
    made = estimate(
        ("box", Price(machine, "", "", "")),
        gpu=("T4", Price(gpu, "", "", "")),
        gpu_count=gpus,
        replicas=replicas,
        hours=hours,
    )
    assert math.isclose(made.usd, replicas * (machine + gpus * gpu) * hours, abs_tol=1e-9)


def test_it_prints_as_a_sentence_with_the_source_and_date_of_each_price() -> None:
    made = estimate(
        ("box", MACHINE), gpu=("T4", GPU), replicas=2, notes=["Disks are not included."]
    )
    assert repr(made) == (
        "2 × box with 1 × T4, 1 h: about $1.50 ($1.50 an hour)\n"
        "  2 × box at $0.25 an hour (read on the price page, 2026-10-07: https://example.org/prices)"
        "\n  2 × T4 at $0.5 an hour (second hand, undated: https://example.org/gpus)\n"
        "  Disks are not included."
    )


def test_a_notebook_shows_the_same_as_a_table() -> None:
    shown = estimate(("<box>", MACHINE), notes=["a & b"])._repr_html_()
    dollar = "<span>$</span>"  # alone in its element, it begins no formula
    caption = f"1 × &lt;box&gt;, 1 h: about {dollar}0.25 ({dollar}0.25 an hour)"
    assert f"<caption>{caption}</caption>" in shown
    assert '<a href="https://example.org/prices">2026-10-07</a>' in shown
    assert "<li>a &amp; b</li>" in shown


@pytest.mark.parametrize("wrong", [{"replicas": 0}, {"gpu_count": 0}, {"hours": -1.0}])
def test_numbers_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(LessonError, match="name a"):
        estimate(("box", MACHINE), **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0, "$0.00"),
        (12.345, "$12.35"),
        (0.1, "$0.10"),
        (0.0012345, "$0.0012"),
        (3e-9, "$0.0000000030"),
    ],
)
def test_small_amounts_keep_two_digits(usd: float, text: str) -> None:
    assert dollars(usd) == text


@pytest.mark.parametrize(
    ("hours", "text"),
    [
        (1, "1 h"),
        (2.5, "2.5 h"),
        (0.5, "30 min"),
        (1 / 3600, "1 s"),
        (0, "0 s"),
    ],
)
def test_lengths_of_time_are_said_in_a_fitting_unit(hours: float, text: str) -> None:
    assert hours_in_words(hours) == text
