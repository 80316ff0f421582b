"""Prices of SageMaker: dated and sourced, and honest about what is not known."""

from __future__ import annotations

import re

import pytest

from AWS_helpers.costs import (
    FAMILIES,
    HOSTING,
    INCREMENT,
    MACHINES,
    estimate_cost,
    estimate_endpoint,
    machine_with,
)
from AWS_helpers.images import image_for
from lesson import LessonError
from lesson.costs import Price
from local_cloud.sagemaker.instances import gpus_of


def test_instances_and_hours_multiply() -> None:
    assert estimate_cost("ml.m5.xlarge").usd == 0.23
    assert estimate_cost("ml.m5.xlarge", replicas=3, hours=2).usd == pytest.approx(3 * 0.23 * 2)


def test_the_estimate_prints_date_and_source() -> None:
    shown = repr(estimate_cost("ml.g4dn.xlarge", hours=0.5))
    assert shown.startswith("1 × ml.g4dn.xlarge, 30 min: about $0.37 ($0.74 an hour)\n")
    assert "quoted by others, 2025-05: https://aws.amazon.com/" in shown


def test_a_job_is_billed_in_the_increments_of_the_service() -> None:
    assert INCREMENT.seconds == 1
    made = estimate_cost("ml.m5.xlarge", replicas=2, hours=9.2 / 3600)
    assert made.usd == pytest.approx(2 * estimate_cost("ml.m5.xlarge").usd * 10 / 3600)
    assert INCREMENT.source.startswith("https://") and INCREMENT.source in repr(made)


@pytest.mark.parametrize("price", [*MACHINES.values(), *HOSTING.values()])
def test_every_price_has_a_source_and_says_how_sure_it_is(price: Price) -> None:
    assert price.source.startswith("https://") and price.sure
    assert re.fullmatch(r"(\d{4}-\d\d(-\d\d)?)?", price.read)


def test_an_endpoint_is_billed_day_and_night() -> None:
    made = estimate_endpoint("ml.m5.large", replicas=2)
    assert made.usd == pytest.approx(2 * 24 * 0.115)
    with pytest.raises(LessonError, match=r"instance type ml\.c5\.large"):
        estimate_endpoint("ml.c5.large")


def test_a_gpu_costs_what_the_instance_type_costs_that_has_it() -> None:
    assert estimate_cost("ml.m5.xlarge", gpu="T4").usd == MACHINES["ml.g4dn.xlarge"].usd
    assert estimate_cost("ml.m5.xlarge", gpu="A10G").usd == MACHINES["ml.g5.xlarge"].usd


@pytest.mark.parametrize("gpu", ["T4", "t4", "TESLA_T4", "nvidia_tesla_t4", "NVIDIA_TESLA_T4"])
def test_a_gpu_may_be_named_in_full_or_in_short(gpu: str) -> None:
    assert machine_with("ml.m5.xlarge", gpu) == "ml.g4dn.xlarge"
    assert machine_with("ml.g4dn.2xlarge", gpu) == "ml.g4dn.2xlarge"


def test_a_machine_without_the_gpu_is_refused() -> None:
    with pytest.raises(LessonError, match=r"'ml.g5.xlarge' has no T4: .*name one of ml\.g4dn\.\*"):
        machine_with("ml.g5.xlarge", "T4")


def test_an_unknown_gpu_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LessonError, match=r"known here are T4 \(ml.g4dn.\*\), A10G"):
        estimate_cost("ml.m5.xlarge", gpu="RTX 9090")


def test_the_local_cloud_counts_a_gpu_where_a_price_or_an_image_is_for_one() -> None:
    for machine in MACHINES:
        gpu = machine.startswith(tuple(FAMILIES.values()))
        assert (gpus_of(machine) > 0) == gpu == ("-gpu-" in image_for(machine, "us-east-1"))


def test_an_unknown_machine_is_named_with_the_known_ones() -> None:
    with pytest.raises(LessonError, match=r"instance type ml.p5.48xlarge, only for ml.m5.large, m"):
        estimate_cost("ml.p5.48xlarge")


def test_another_region_is_priced_as_virginia_and_says_so() -> None:
    shown = repr(estimate_cost("ml.m5.large", region="eu-central-1"))
    assert "Priced as in us-east-1; eu-central-1 may cost more." in shown


def test_spot_is_not_estimated_and_says_so() -> None:
    made = estimate_cost("ml.m5.large", spot=True)
    assert made.usd == 0.115 and "Spot machines cost less" in repr(made)
