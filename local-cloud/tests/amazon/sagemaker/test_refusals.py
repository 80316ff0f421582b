"""What the real clients see of a request that does not fit: the service's code and words."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from local_cloud.client.control import Status
from tests.amazon.sagemaker.support import BUCKET, IMAGE, request
from tests.amazon.sagemaker.test_sdk import sdk

__all__ = ["sdk"]  # the fixture
# The client leaves patterns, choices and upper limits to the service.
LONG = "x" * 2501


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"TrainingJobName": "my_job"},
            "1 validation error detected: Value 'my_job' at 'trainingJobName' failed to satisfy"
            " constraint: Member must satisfy regular expression pattern: ",
        ),
        (
            {"HyperParameters": {"a": LONG}},
            "at 'hyperParameters' failed to satisfy constraint: Map value must satisfy constraint:"
            " [Member must have length less than or equal to 2500, ",
        ),
        (
            {"StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 90}},
            "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is",
        ),
    ],
)
def test_boto3_raises_what_the_service_says(
    cloud: Status, changes: dict[str, Any], words: str
) -> None:
    client = boto3.client("sagemaker")
    with pytest.raises(ClientError, match=re.escape(words)) as refusal:
        client.create_training_job(**request("refused") | changes)
    assert refusal.value.response["Error"]["Code"] == "ValidationException"
    assert refusal.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_the_sdk_raises_it_too(sdk: SimpleNamespace) -> None:
    trainer = sdk.ModelTrainer(
        training_image=IMAGE,
        hyperparameters={"a": LONG},
        compute=sdk.configs.Compute(instance_type="ml.m5.large", instance_count=1),
        output_data_config=sdk.configs.OutputDataConfig(s3_output_path=f"s3://{BUCKET}/out"),
        base_job_name="refused",
    )
    with pytest.raises(ClientError, match="at 'hyperParameters' failed to satisfy constraint"):
        trainer.train(wait=False)
