"""Prices: dated and sourced, and honest about what is not known."""

from __future__ import annotations

from typing import Any

import pytest

from lesson import LessonError
from tests.helpers.sides import Side

HOUR = {"Google": 0.21849885, "Amazon": 0.23}  # of the default machine, as the price pages say


def test_machines_and_hours_multiply(side: Side) -> None:
    estimate = side.costs.estimate_cost
    assert estimate(side.machine).usd == HOUR[side.cloud]
    made = estimate(side.machine, replicas=3, hours=2)
    assert made.usd == pytest.approx(3 * HOUR[side.cloud] * 2)


@pytest.mark.parametrize(
    ("side", "machine", "said"),
    [
        ("Google", {"machine": "n1-standard-4", "gpu": "NVIDIA_TESLA_T4"},
         ["1 × n1-standard-4 with 1 × T4, 30 min: about $0.31 ($0.62 an hour)\n",
          "2026-10-07: https://cloud.google.com/", "quoted by others, undated"]),
        ("Amazon", {"machine": "ml.g4dn.xlarge"},
         ["1 × ml.g4dn.xlarge, 30 min: about $0.37 ($0.74 an hour)\n",
          "quoted by others, 2025-05: https://aws.amazon.com/"]),
    ],
    indirect=["side"],
)  # fmt: skip
def test_the_estimate_prints_date_and_source(
    side: Side, machine: dict[str, str], said: list[str]
) -> None:
    shown = repr(side.costs.estimate_cost(**machine, hours=0.5))
    assert shown.startswith(said[0]) and all(each in shown for each in said)


@pytest.mark.parametrize(
    ("side", "increment", "billed"),  # of 9.2 seconds
    [("Google", 30, 30), ("Amazon", 1, 10)],
    indirect=["side"],
)
def test_a_job_is_billed_in_the_increments_of_the_service(
    side: Side, increment: int, billed: int
) -> None:
    assert side.costs.INCREMENT.seconds == increment
    made = side.costs.estimate_cost(side.machine, replicas=2, hours=9.2 / 3600)
    assert made.usd == pytest.approx(2 * HOUR[side.cloud] * billed / 3600)
    source = side.costs.INCREMENT.source
    assert source.startswith("https://") and source in repr(made)


@pytest.mark.parametrize(
    ("side", "usd", "day", "unknown", "named"),
    [
        ("Google", 0.1095, "2026-06-15", "c3-standard-4", "machine c3-standard-4"),
        ("Amazon", 0.115, "2026-07-30", "ml.c5.large", r"instance type ml\.c5\.large"),
    ],
    indirect=["side"],
)
def test_an_endpoint_is_billed_day_and_night(
    side: Side, usd: float, day: str, unknown: str, named: str
) -> None:
    made = side.costs.estimate_endpoint(side.serving_machine, replicas=2)
    assert made.usd == pytest.approx(2 * 24 * usd) and day in repr(made)
    with pytest.raises(LessonError, match=named):
        side.costs.estimate_endpoint(unknown)


@pytest.mark.parametrize(
    ("side", "machine", "sentence"),
    [
        ("Google", {"machine": "a2-highgpu-1g"},
         r"machine a2-highgpu-1g, only for n1-standard-4, n1-"),
        ("Google", {"machine": "n1-standard-4", "gpu": "RTX 9090"},
         r"no such GPU; it knows K80, P100, V100, P4, T4, A100"),
        ("Amazon", {"machine": "ml.p5.48xlarge"},
         r"instance type ml.p5.48xlarge, only for ml.m5.large, m"),
        ("Amazon", {"machine": "ml.m5.xlarge", "gpu": "RTX 9090"},
         r"known here are T4 \(ml.g4dn.\*\), A10G"),
    ],
    indirect=["side"],
)  # fmt: skip
def test_an_unknown_machine_or_gpu_is_refused_with_the_known_ones(
    side: Side, machine: dict[str, str], sentence: str
) -> None:
    with pytest.raises(LessonError, match=sentence):
        side.costs.estimate_cost(**machine)


@pytest.mark.parametrize(
    ("side", "more", "said"),
    [
        ("Google", {"region": "europe-west4"},
         "Priced as in us-central1; europe-west4 may cost more."),
        ("Amazon", {"region": "eu-central-1"},
         "Priced as in us-east-1; eu-central-1 may cost more."),
        ("Google", {"spot": True}, "Spot machines cost less"),
        ("Amazon", {"spot": True}, "Spot machines cost less"),
    ],
    indirect=["side"],
)  # fmt: skip
def test_other_regions_and_spot_are_not_estimated_and_it_says_so(
    side: Side, more: dict[str, Any], said: str
) -> None:
    made = side.costs.estimate_cost(side.machine, **more)
    assert made.usd == HOUR[side.cloud] and said in repr(made)
