"""Messages: however much of a request or of a job's words they repeat, they stay readable."""

from __future__ import annotations

import pickle

import boto3
import pytest
from botocore.exceptions import ClientError
from google.api_core.exceptions import BadRequest
from google.cloud import storage

from local_cloud.client.control import Status
from local_cloud.errors import LONGEST, LocalCloudError

LONG = "begins " + "x" * 500_000 + " ends"


def test_a_long_message_has_its_beginning_and_its_end() -> None:
    said = str(LocalCloudError(LONG))
    assert len(said) <= LONGEST + 3
    assert said.startswith("begins x") and said.endswith("x ends")
    assert str(LocalCloudError("short")) == "short"
    assert str(pickle.loads(pickle.dumps(LocalCloudError(LONG)))) == said


def test_an_answer_does_not_repeat_a_long_request(cloud: Status) -> None:
    client = storage.Client()
    bucket = client.create_bucket("of-long-errors")
    with pytest.raises(BadRequest) as google:
        bucket.blob("x").upload_from_string("")
        bucket.blob("x").compose([bucket.blob("y" * 100_000)])
    amazon = boto3.client("logs")
    with pytest.raises(ClientError) as refused:
        amazon.filter_log_events(
            logGroupName="/aws/sagemaker/TrainingJobs", filterPattern=f"({LONG}"
        )
    for problem in (google.value, refused.value):
        assert len(str(problem)) < 3 * LONGEST
    bucket.delete(force=True)
    client.close()
