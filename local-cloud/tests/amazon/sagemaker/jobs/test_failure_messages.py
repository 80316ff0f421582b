"""Rehearsed failures, as boto3 shows them: SageMaker's codes and messages."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest

import local_cloud
from local_cloud.client.failures import IMAGE, LOST_WORKER, MEMORY, NO_QUOTA, REGION, ROLE
from local_cloud.engine.rehearsals.failures import Rehearsed
from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.support import Refusal, go, running

SLEEPS = "import time; print('begins', flush=True); time.sleep(60)"


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        (NO_QUOTA, "ResourceLimitExceeded", "for training job usage' is 0 Instances"),
        (ROLE, "ValidationException", "Could not assume role arn:aws:iam::"),
    ],
)
def test_a_request_is_refused_once(tmp_path: Path, failure: str, code: str, words: str) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sagemaker.engine.failures.add(Rehearsed(failure))
            with pytest.raises(Refusal, match=words) as caught:
                await sagemaker.run("pass")
            assert caught.value.code == code
            await sagemaker.run("pass")

    go(story())


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (IMAGE, "ClientError: Cannot pull algorithm container. Either the image does not exist"),
        (REGION, "ClientError: Data download failed:PermanentRedirect (301): The bucket is in"),
        (MEMORY, "AlgorithmError: begins, exit code: 137"),
        (LOST_WORKER, "InternalServerError: We encountered an internal error. Please try again."),
    ],
)
def test_a_job_is_taken_and_fails(tmp_path: Path, failure: str, words: str) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sagemaker.engine.failures.add(Rehearsed(failure))
            job = await sagemaker.run(SLEEPS, instances=2, status="Failed")
            assert job["FailureReason"].startswith(words)

    go(story())


@pytest.mark.usefixtures("cloud", "trained")
def test_an_endpoint_that_is_never_healthy() -> None:
    model = serving.model(serving.put({"code/inference.py": "def model_fn(folder): return 1"}))
    local_cloud.rehearse("endpoint never healthy")
    config = serving.configuration(serving.variant(model))
    with serving.endpoint(config, status="Failed") as name:
        endpoint = boto3.client("sagemaker").describe_endpoint(EndpointName=name)
    assert endpoint["FailureReason"].startswith(
        "The primary container for production variant AllTraffic did not pass the ping health check"
    )
