"""One address for all of Amazon's services."""

from __future__ import annotations

import json
import os
import urllib.request
from urllib.error import HTTPError

import boto3
import pytest
from botocore.exceptions import ClientError

from local_cloud.client.control import Status

pytestmark = pytest.mark.usefixtures("cloud")


def post(body: bytes, **headers: str) -> tuple[int, dict[str, str]]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(os.environ["AWS_ENDPOINT_URL"] + "/", body, names)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as answer:
        return answer.code, json.loads(answer.read())


def test_a_call_that_is_missing_says_so_by_name() -> None:
    with pytest.raises(ClientError) as caught:
        boto3.client("sagemaker").list_labeling_jobs()
    assert caught.value.response["Error"] == {
        "Code": "NotImplemented",
        "Message": "not implemented in the local cloud: SageMaker ListLabelingJobs",
    }


def test_a_service_that_is_missing_says_so_by_name() -> None:
    says = "not implemented in the local cloud: "
    with pytest.raises(ClientError, match=says + r"DynamoDB_\d+\.ListTables"):
        boto3.client("dynamodb").list_tables()
    with pytest.raises(ClientError, match=says + "CreateStack of API version 2010-05-15"):
        boto3.client("cloudformation").create_stack(StackName="x")
    with pytest.raises(ClientError, match=says + "lambda, GET /2015-03-31/functions"):
        boto3.client("lambda").list_functions()


def test_a_call_that_no_service_has() -> None:
    status, content = post(b"{}", X_Amz_Target="SageMaker.TrainFaster")
    assert (status, content["__type"]) == (400, "UnknownOperationException")


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    status, content = post(body, X_Amz_Target="SageMaker.CreateTrainingJob")
    assert (status, content["__type"]) == (400, "SerializationException")


def test_a_form_that_is_no_text_is_still_answered(cloud: Status) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    request = urllib.request.Request(os.environ["AWS_ENDPOINT_URL"] + "/", b"Action=\xff", form)
    with pytest.raises(HTTPError) as caught:
        urllib.request.urlopen(request)
    with caught.value as answer:
        assert (answer.code, b"NotImplemented" in answer.read()) == (501, True)


def test_without_the_secret_nobody_comes_in(cloud: Status) -> None:
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{cloud.port}/aws")
    with pytest.raises(ClientError) as caught:
        client.list_buckets()
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
