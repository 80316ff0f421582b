"""Prices of Vertex AI: dated and sourced, and honest about what is not known."""

from __future__ import annotations

import datetime

import pytest

from GCP_helpers.costs import (
    AUTOML,
    BIGQUERY_ML,
    GPUS,
    MACHINES,
    PREDICTION,
    accelerator_type,
    estimate_cost,
    short_name,
)
from lesson import LessonError
from lesson.money.costs import Price

ALL = (*MACHINES.values(), *GPUS.values(), *PREDICTION.values())


def test_replicas_gpus_and_hours_multiply() -> None:
    made = estimate_cost("n1-standard-4", gpu="T4", replicas=3, hours=2, gpu_count=2)
    assert made.usd == pytest.approx(3 * (0.21849885 + 2 * 0.4025) * 2)


@pytest.mark.parametrize("price", [*ALL, AUTOML, BIGQUERY_ML])
def test_every_price_has_a_source_and_says_how_sure_it_is(price: Price) -> None:
    assert price.source.startswith("https://") and price.sure
    assert not price.read or datetime.date.fromisoformat(price.read)


def test_larger_n1_machines_are_worked_out_from_their_size() -> None:
    for vcpus in (4, 8, 16, 32):
        per_vcpu = MACHINES[f"n1-standard-{vcpus}"].usd / vcpus
        assert per_vcpu == pytest.approx(0.21849885 / 4)


def test_a_gpu_without_a_price_is_named_with_the_known_ones() -> None:
    with pytest.raises(LessonError, match="GPU NVIDIA_L4, only for NVIDIA_TESLA_T4"):
        estimate_cost("n1-standard-4", gpu="L4")


@pytest.mark.parametrize("gpu", ["T4", "t4", "TESLA_T4", "nvidia_tesla_t4", "NVIDIA_TESLA_T4"])
def test_a_gpu_may_be_named_in_full_or_in_short(gpu: str) -> None:
    assert accelerator_type(gpu) == "NVIDIA_TESLA_T4"


def test_no_two_gpus_of_the_sdk_share_a_short_name() -> None:
    from google.cloud.aiplatform_v1.types import AcceleratorType

    names = [each.name for each in AcceleratorType if each.name.startswith("NVIDIA_")]
    assert len({short_name(name) for name in names}) == len(names)
