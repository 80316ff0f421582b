"""Prices of Vertex AI: dated and sourced, and honest about what is not known."""

from __future__ import annotations

import datetime

import pytest

from GCP_helpers.costs import (
    AUTOML,
    BIGQUERY_ML,
    GPUS,
    INCREMENT,
    MACHINES,
    PREDICTION,
    accelerator_type,
    estimate_cost,
    estimate_endpoint,
    short_name,
)
from lesson import LessonError
from lesson.costs import Price

ALL = (*MACHINES.values(), *GPUS.values(), *PREDICTION.values())


def test_one_machine_for_an_hour_costs_what_the_price_page_says() -> None:
    assert estimate_cost("n1-standard-4").usd == 0.21849885


def test_replicas_gpus_and_hours_multiply() -> None:
    made = estimate_cost("n1-standard-4", gpu="T4", replicas=3, hours=2, gpu_count=2)
    assert made.usd == pytest.approx(3 * (0.21849885 + 2 * 0.4025) * 2)


def test_the_estimate_prints_date_and_source() -> None:
    shown = repr(estimate_cost("n1-standard-4", gpu="NVIDIA_TESLA_T4", hours=0.5))
    assert shown.startswith("1 × n1-standard-4 with 1 × T4, 30 min: about $0.31 ($0.62 an hour)\n")
    assert "2026-10-07: https://cloud.google.com/" in shown
    assert "quoted by others, undated" in shown


def test_a_job_is_billed_in_the_increments_of_the_service() -> None:
    assert INCREMENT.seconds == 30
    made = estimate_cost("n1-standard-4", replicas=2, hours=9.2 / 3600)
    assert made.usd == pytest.approx(2 * estimate_cost("n1-standard-4").usd * 30 / 3600)
    assert INCREMENT.source.startswith("https://") and INCREMENT.source in repr(made)


@pytest.mark.parametrize("price", [*ALL, AUTOML, BIGQUERY_ML])
def test_every_price_has_a_source_and_says_how_sure_it_is(price: Price) -> None:
    assert price.source.startswith("https://") and price.sure
    assert not price.read or datetime.date.fromisoformat(price.read)


def test_an_endpoint_is_billed_day_and_night() -> None:
    made = estimate_endpoint("n1-standard-2", replicas=2)
    assert made.usd == pytest.approx(2 * 24 * 0.1095)
    assert "2026-06-15" in repr(made)
    with pytest.raises(LessonError, match="machine c3-standard-4"):
        estimate_endpoint("c3-standard-4")


def test_larger_n1_machines_are_worked_out_from_their_size() -> None:
    for vcpus in (4, 8, 16, 32):
        per_vcpu = MACHINES[f"n1-standard-{vcpus}"].usd / vcpus
        assert per_vcpu == pytest.approx(0.21849885 / 4)


def test_an_unknown_machine_is_named_with_the_known_ones() -> None:
    with pytest.raises(LessonError, match=r"machine a2-highgpu-1g, only for n1-standard-4, n1-"):
        estimate_cost("a2-highgpu-1g")


def test_a_gpu_without_a_price_is_named_with_the_known_ones() -> None:
    with pytest.raises(LessonError, match="GPU NVIDIA_L4, only for NVIDIA_TESLA_T4"):
        estimate_cost("n1-standard-4", gpu="L4")


def test_another_region_is_priced_as_iowa_and_says_so() -> None:
    shown = repr(estimate_cost("n1-standard-4", region="europe-west4"))
    assert "Priced as in us-central1; europe-west4 may cost more." in shown


def test_spot_is_not_estimated_and_says_so() -> None:
    made = estimate_cost("n1-standard-4", spot=True)
    assert made.usd == 0.21849885 and "Spot machines cost less" in repr(made)


@pytest.mark.parametrize("gpu", ["T4", "t4", "TESLA_T4", "nvidia_tesla_t4", "NVIDIA_TESLA_T4"])
def test_a_gpu_may_be_named_in_full_or_in_short(gpu: str) -> None:
    assert accelerator_type(gpu) == "NVIDIA_TESLA_T4"


def test_no_two_gpus_of_the_sdk_share_a_short_name() -> None:
    from google.cloud.aiplatform_v1.types import AcceleratorType

    names = [each.name for each in AcceleratorType if each.name.startswith("NVIDIA_")]
    assert len({short_name(name) for name in names}) == len(names)


def test_an_unknown_gpu_is_refused_with_the_known_names() -> None:
    with pytest.raises(LessonError, match=r"no such GPU; it knows K80, P100, V100, P4, T4, A100"):
        accelerator_type("RTX 9090")
