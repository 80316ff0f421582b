"""Estimates: the sum, and what is said about it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lesson import LessonError
from lesson.jobs.listing import as_table, row
from lesson.jobs.spec import Times
from lesson.money.costs import (
    Estimate,
    Increment,
    Price,
    PriceUnknown,
    bill,
    dollars,
    estimate,
    hours_in_words,
)

MACHINE = Price(0.25, "https://example.org/prices", "2026-10-07", "read on the price page")
GPU = Price(0.5, "https://example.org/gpus", "", "second hand")
HALF_MINUTES = Increment(
    "The service", 30, "https://example.org/steps", "2026-10", "as on the page"
)


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


@pytest.mark.parametrize(
    ("seconds", "billed"),
    [(0, 0), (0.01, 30), (29.99, 30), (30, 30), (30.001, 60), (135, 150), (0.1 * 3600, 360)],
)
def test_time_is_billed_in_whole_increments(seconds: float, billed: float) -> None:
    made = estimate(("box", MACHINE), replicas=2, hours=seconds / 3600, increment=HALF_MINUTES)
    assert made.usd == pytest.approx(2 * 0.25 * billed / 3600, rel=1e-12, abs=0)


@given(st.integers(1, 60), st.integers(0, 100_000))
def test_whole_increments_given_in_hours_are_not_rounded_up(step: int, count: int) -> None:
    rule = Increment("", step, "", "", "")
    assert rule.round_up(count * step / 3600 * 3600) == count * step


@given(st.integers(1, 60), st.floats(0, 1e6))
def test_rounding_adds_less_than_an_increment(step: int, seconds: float) -> None:
    billed = Increment("", step, "", "", "").round_up(seconds)
    assert billed % step == 0 and -1e-4 < billed - seconds < step


def test_an_estimate_says_what_is_billed_and_where_the_rule_is_from() -> None:
    made = estimate(("box", MACHINE), hours=10 / 3600, increment=HALF_MINUTES)
    rule = "The service bills by increments of 30 s, rounded up (as on the page, "
    link = '<a href="https://example.org/steps">2026-10</a>'
    assert repr(made).startswith("1 × box, 10 s, billed as 30 s: about $0.0021 ($0.25 an hour)\n")
    assert repr(made).endswith(f"\n  {rule}2026-10: https://example.org/steps).")
    assert f"<li>{rule}{link}).</li>" in made._repr_html_()
    exact = estimate(("box", MACHINE), hours=1, increment=HALF_MINUTES)
    assert "billed as" not in exact.sentence()


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
    asked += [("1 × box and 3 × box + 1 × T4, spot", 4), ("1 × box and 1 × other", 2)]
    listed = as_table(
        [
            row("job", ("succeeded", "Completed"), an_hour, replicas=n, machine=text)
            for text, n in asked
        ]
    )

    same = bill(listed, estimate_cost)["dollars"].tolist()
    longer = bill(listed, estimate_cost, ready=3600)["dollars"].tolist()

    assert same[:3] == [0.5, 1.25, 0.25] and math.isnan(same[3])
    assert same[4] == 2.5 and math.isnan(same[5])
    assert longer[:3] == [1.0, 2.5, 1.0] and math.isnan(longer[3])
    assert bill(listed[:0], estimate_cost)["dollars"].sum() == 0


def test_a_bill_rounds_each_trial_of_a_study_by_itself() -> None:
    def estimate_cost(machine: str, replicas: int, hours: float, **gpus: Any) -> Estimate:
        return estimate((machine, MACHINE), replicas=replicas, hours=hours, increment=HALF_MINUTES)

    moment = datetime(2026, 11, 20, tzinfo=UTC)
    a_minute = Times(moment, moment, moment + timedelta(minutes=1))
    asked = ["box", "4 trials on box", "0 trials on box"]
    listed = as_table(
        [
            row("job", ("succeeded", "Completed"), a_minute, replicas=1, machine=text)
            for text in asked
        ]
    )
    assert bill(listed, estimate_cost)["dollars"].tolist() == pytest.approx(
        [0.25 / 60, 4 * 0.25 / 120, 0.25 / 60]
    )
