"""Estimates: the sum, and what is said about it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lesson import LessonError
from lesson.costs import Estimate, Price, PriceUnknown, bill, dollars, estimate, hours_in_words
from lesson.jobs import Times, row, table

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


def test_a_bill_multiplies_the_seconds_of_each_job_with_the_price_of_its_machines() -> None:
    def estimate_cost(machine: str, replicas: int, hours: float, **gpus: Any) -> Estimate:
        if machine != "box":
            raise PriceUnknown("no price")
        gpu = ("T4", GPU) if gpus else None
        count = gpus.get("gpu_count", 1)
        return estimate(
            (machine, MACHINE), gpu=gpu, gpu_count=count, replicas=replicas, hours=hours
        )

    moment = datetime(2026, 11, 20, tzinfo=UTC)
    an_hour = Times(moment, moment, moment + timedelta(hours=1))
    asked = [("box", 2), ("box + 2 × T4, spot", 1), ("3 trials on box", 1), ("other", 1)]
    listed = table([row("job", ("succeeded", "Completed"), an_hour, n, text) for text, n in asked])

    same = bill(listed, estimate_cost)["dollars"].tolist()
    longer = bill(listed, estimate_cost, ready=3600)["dollars"].tolist()

    assert same[:3] == [0.5, 1.25, 0.25] and math.isnan(same[3])
    assert longer[:3] == [1.0, 2.5, 1.0] and math.isnan(longer[3])
    assert bill(listed[:0], estimate_cost)["dollars"].sum() == 0
