"""Prices of SageMaker: dated and sourced, and honest about what is not known."""

from __future__ import annotations

import re

import pytest

from AWS_helpers.costs import (
    FAMILIES,
    HOSTING,
    MACHINES,
    estimate_cost,
    machine_with,
)
from AWS_helpers.images import image_for
from lesson import LessonError
from lesson.money.costs import Price


@pytest.mark.parametrize("price", [*MACHINES.values(), *HOSTING.values()])
def test_every_price_has_a_source_and_says_how_sure_it_is(price: Price) -> None:
    assert price.source.startswith("https://") and price.sure
    assert re.fullmatch(r"(\d{4}-\d\d(-\d\d)?)?", price.read)


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


def test_the_image_is_for_a_gpu_where_the_price_is_for_one() -> None:
    for machine in MACHINES:
        gpu = machine.startswith(tuple(FAMILIES.values()))
        assert gpu == ("-gpu-" in image_for(machine, "us-east-1"))
