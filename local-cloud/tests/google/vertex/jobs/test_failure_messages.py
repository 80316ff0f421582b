"""Rehearsed failures, as the real SDK shows them: Vertex AI's codes and messages."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions

import local_cloud
from tests.google.vertex.jobs.test_custom_job import custom_job, pool, wait_for
from tests.google.vertex.support import BUCKET
from tests.google.vertex.trained_model import Trained, upload

SLEEPS = "import time; print('begins', flush=True); time.sleep(60)"


@pytest.fixture(autouse=True)
def _nothing_rehearsed(aiplatform: ModuleType) -> Iterator[None]:
    yield
    local_cloud.rehearse(None)


@pytest.mark.parametrize(
    ("failure", "error", "words"),
    [
        (
            "no quota",
            exceptions.TooManyRequests,
            "429 .*exceed quota limits: aiplatform.googleapis.com/custom_model_training_cpus",
        ),
        (
            "role not assumable",
            exceptions.BadRequest,
            r"act as service_account: \d+-compute@developer.* \(or it may not exist\)",
        ),
        (
            "bucket in another region",
            exceptions.BadRequest,
            f"bucket of `gs://{BUCKET}/.*` is in location `us`.* `us-central1`",
        ),
    ],
)
def test_a_request_is_refused_once(
    aiplatform: ModuleType, failure: str, error: type[Exception], words: str
) -> None:
    local_cloud.rehearse(failure)
    with pytest.raises(error, match=words):
        custom_job(aiplatform, pool("pass"), base_output_dir=f"gs://{BUCKET}/r").submit()
    custom_job(aiplatform, pool("pass"), base_output_dir=f"gs://{BUCKET}/r").submit()


def failed(aiplatform: ModuleType, failure: str, *pools: Any) -> Any:
    """The error of a job that meets this failure."""
    local_cloud.rehearse(failure)
    job = custom_job(aiplatform, *pools, base_output_dir=f"gs://{BUCKET}/r")
    job.submit()
    wait_for(job, "JOB_STATE_FAILED")
    return job.error


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        ("image retired", 3, "Failed to read the container uri [us-docker.pkg.dev/"),
        ("out of memory", 3, "The replica workerpool0-0 ran out-of-memory and exited with a"),
        ("lost worker", 13, "Internal error occurred for the current attempt."),
    ],
)
def test_a_job_is_taken_and_fails(
    aiplatform: ModuleType, failure: str, code: int, words: str
) -> None:
    error = failed(aiplatform, failure, pool(SLEEPS), pool(SLEEPS))
    assert error.code == code
    assert error.message.startswith(words)


def test_a_pipeline_without_quota_fails_with_code_8(aiplatform: ModuleType, tmp_path: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text("pass")
    local_cloud.rehearse("no quota")
    job = aiplatform.CustomTrainingJob(
        display_name="no-quota",
        script_path=str(script),
        container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest",
    )
    with pytest.raises(RuntimeError, match=r"code: 8\n.*custom_model_training_nvidia_t4_gpus"):
        job.run(accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1)


def test_a_name_says_which_job(aiplatform: ModuleType) -> None:
    local_cloud.rehearse("no quota", name="another")
    custom_job(aiplatform, pool("pass"), base_output_dir=f"gs://{BUCKET}/r").submit()


def test_slow_provisioning_is_a_job_that_stays_pending(aiplatform: ModuleType) -> None:
    local_cloud.rehearse("slow provisioning", seconds=600)
    job = custom_job(aiplatform, pool("pass"), base_output_dir=f"gs://{BUCKET}/r")
    job.submit()
    wait_for(job, "JOB_STATE_PENDING")
    job.cancel()
    wait_for(job, "JOB_STATE_CANCELLED")


def test_a_metric_with_another_name_fails_the_tuning_job(aiplatform: ModuleType) -> None:
    from google.cloud.aiplatform import hyperparameter_tuning as hpt

    reports = "import hypertune\nhypertune.HyperTune().report_hyperparameter_tuning_metric"
    code = f"{reports}('accuracy', 0.5)"
    local_cloud.rehearse("wrong metric tag")
    job = aiplatform.HyperparameterTuningJob(
        display_name="tag",
        custom_job=custom_job(aiplatform, pool(code), base_output_dir=f"gs://{BUCKET}/r"),
        metric_spec={"accuracy": "maximize"},
        parameter_spec={"x": hpt.DoubleParameterSpec(min=0, max=1, scale="linear")},
        max_trial_count=1,
        parallel_trial_count=1,
    )
    with pytest.raises(RuntimeError, match=r"No metric of the tag accuracy.*: accuracy_2"):
        job.run()


def test_an_endpoint_that_is_never_healthy(aiplatform: ModuleType, trained: Trained) -> None:
    model = upload(aiplatform, trained)
    endpoint = aiplatform.Endpoint.create(display_name="never healthy")
    local_cloud.rehearse("endpoint never healthy")
    with pytest.raises(exceptions.FailedPrecondition, match="Model server never became ready"):
        endpoint.deploy(model, machine_type="n1-standard-2")
    assert endpoint.list_models() == []
    endpoint.delete()
    model.delete()
