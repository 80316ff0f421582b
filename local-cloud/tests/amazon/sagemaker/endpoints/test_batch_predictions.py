"""Batch transform: whole files of S3, by boto3."""

from __future__ import annotations

import json
import time
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

import local_cloud
from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.serving import BUCKET, CSV, Trained
from tests.lesson_code import PASSENGERS

LINES = "application/jsonlines"
SLOW = """
import time
def model_fn(folder):
    return None
def transform_fn(model, data, kind, accept):
    time.sleep(0.2)
    return data, accept
"""


@pytest.fixture(scope="module")
def model(trained: Trained) -> str:
    return serving.model(trained.data)


def job(model: str, prefix: str, kind: str = LINES, **more: Any) -> str:
    """A new transform job on the objects below a prefix; its name."""
    name = serving.named("transform")
    source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/{prefix}"}
    given = {"DataSource": {"S3DataSource": source}, "ContentType": kind, "SplitType": "Line"}
    wanted = {"S3OutputPath": f"s3://{BUCKET}/{name}", "Accept": kind, "AssembleWith": "Line"}
    request: dict[str, Any] = {
        "TransformJobName": name,
        "ModelName": model,
        "TransformInput": given | more.pop("TransformInput", {}),
        "TransformOutput": wanted,
        "TransformResources": {"InstanceType": serving.MACHINE, "InstanceCount": 1},
    }
    boto3.client("sagemaker").create_transform_job(**request | more)
    return name


def ended(name: str, status: str = "Completed") -> Any:
    """The job's description when it has ended."""
    client, end = boto3.client("sagemaker"), time.monotonic() + 60
    while time.monotonic() < end:
        job = client.describe_transform_job(TransformJobName=name)
        if job["TransformJobStatus"] != "InProgress":
            assert job["TransformJobStatus"] == status, job.get("FailureReason")
            return job
        time.sleep(0.05)
    raise AssertionError(job)


def put(key: str, text: str) -> None:
    boto3.client("s3").put_object(Bucket=BUCKET, Key=key, Body=text.encode())


def output(name: str, file: str) -> list[str]:
    key = f"{name}/{file}.out"
    body = boto3.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"]
    return str(body.read().decode()).splitlines()


def test_each_line_has_its_prediction_in_order(trained: Trained, model: str) -> None:
    order = [0, 1, 1, 0, 1] * 40
    put("lines/a.jsonl", "".join(f"{json.dumps(PASSENGERS[each])}\n" for each in order))
    put("lines/b/c.jsonl", "".join(f"{json.dumps(trained.rows[each])}\n" for each in (1, 0)))
    several = job(model, "lines/", MaxConcurrentTransforms=3)
    single = job(model, "lines/b", BatchStrategy="SingleRecord", MaxConcurrentTransforms=2)
    ended_job = ended(several)
    assert (
        ended_job["TransformEndTime"]
        >= ended_job["TransformStartTime"]
        >= ended_job["CreationTime"]
    )
    chances = [json.loads(line)["probability"] for line in output(several, "a.jsonl")]
    assert chances == pytest.approx([trained.expected[each] for each in order], abs=1e-6)
    ended(single)
    for name, file in ((several, "b/c.jsonl"), (single, "c.jsonl")):
        chances = [json.loads(line)["probability"] for line in output(name, file)]
        assert chances == pytest.approx(trained.expected[::-1], abs=1e-6)
    client = boto3.client("sagemaker")
    listed = client.list_transform_jobs(NameContains="transform-")["TransformJobSummaries"]
    assert {each["TransformJobStatus"] for each in listed} == {"Completed"}
    with pytest.raises(ClientError, match="already exists"):
        client.create_transform_job(
            **{
                field: ended_job[field]
                for field in (
                    "TransformJobName",
                    "ModelName",
                    "TransformInput",
                    "TransformOutput",
                    "TransformResources",
                )
            }
        )


def test_a_table_is_sent_whole_and_a_bad_one_fails_the_job(trained: Trained, model: str) -> None:
    put("table/rows.csv", "\n".join(",".join(map(str, row)) for row in trained.rows))
    name = job(model, "table", CSV, TransformInput={"SplitType": "None"})
    put("bad/rows.csv", "1,2\n")
    bad = job(model, "bad/", CSV)
    ended(name)
    chances = [float(line.split(",")[0]) for line in output(name, "rows.csv")]
    assert chances == pytest.approx(trained.expected, abs=1e-6)
    assert "it has 2 values; give 7" in ended(bad, "Failed")["FailureReason"]


def test_a_job_is_stopped_and_one_without_input_fails(model: str) -> None:
    client = boto3.client("sagemaker")
    put("lines/a.jsonl", json.dumps(PASSENGERS[0]))
    name = job(model, "lines/a")
    client.stop_transform_job(TransformJobName=name)
    assert ended(name, "Stopped")["TransformJobName"] == name
    with pytest.raises(ClientError, match="in status Stopped"):
        client.stop_transform_job(TransformJobName=name)
    assert "no object at" in ended(job(model, "none/"), "Failed")["FailureReason"]
    with pytest.raises(ClientError, match="Could not find requested job"):
        client.describe_transform_job(TransformJobName="none")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"DataProcessing": {"JoinSource": "Input"}}, "JoinSource"),
        ({"DataProcessing": {"InputFilter": "$[1:]"}}, "InputFilter"),
        ({"TransformInput": {"SplitType": "RecordIO"}}, "RecordIO"),
        ({"TransformInput": {"CompressionType": "Gzip"}}, "Gzip"),
        ({"MaxPayloadInMB": 101}, "MaxPayloadInMB is 101: it cannot be greater than 100"),
        (
            {"MaxPayloadInMB": 11, "MaxConcurrentTransforms": 10},
            "is 10 [*] 11: it cannot exceed 100 MB",
        ),
        (
            {
                "TransformResources": {
                    "InstanceType": "ml.g4dn.xlarge",
                    "InstanceCount": 1,
                    "VolumeKmsKeyId": "a-key",
                }
            },
            "TransformResources.VolumeKmsKeyId cannot be requested",
        ),
        ({"ModelName": "none"}, "Could not find model"),
    ],
)
def test_jobs_that_cannot_be_made_are_refused_by_name(
    model: str, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ClientError, match=words):
        job(model, "lines", **change)


def test_a_job_begins_again_after_the_server_was_stopped(trained: Trained) -> None:
    lines = [str(number) for number in range(20)]
    put("slow/a.csv", "".join(f"{each}\n" for each in lines))
    slow = serving.model(serving.put({"code/inference.py": SLOW}))
    name, client = job(slow, "slow/", CSV, BatchStrategy="SingleRecord"), boto3.client("sagemaker")
    while "TransformStartTime" not in client.describe_transform_job(TransformJobName=name):
        time.sleep(0.05)
    local_cloud.stop()
    local_cloud.activate()
    ended(name)
    assert output(name, "a.csv") == lines
