"""Jobs in the console: sent by the real SDKs, seen as they change, stopped and deleted there."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import boto3
import pytest

from local_cloud.client.control import Status
from testing.visitor import Visitor

BUCKET = "console-jobs"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
TRAINING_IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312"
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}"
# Writes an epoch, then waits for a file in its bucket before it writes the next one.
TWO_EPOCHS = """
import os, time
from google.cloud import storage
print("replica 0 of 1, rows 0 to 711", flush=True)
print("epoch 1  loss 0.6900  validation loss 0.6800  accuracy 0.5500  0.1 s", flush=True)
print(%r, flush=True)
while not storage.Client().bucket(%r).blob("go").exists():
    time.sleep(0.02)
print("epoch 2  loss 0.4100  validation loss 0.4500  accuracy 0.8100  0.2 s", flush=True)
"""


@pytest.fixture(scope="module")
def aiplatform(cloud: Status) -> ModuleType:
    """The SDK, set up for a project of these tests."""
    from google.cloud import aiplatform, storage

    storage.Client(project="console-project").create_bucket(BUCKET)
    aiplatform.init(
        project="console-project", location="us-central1", staging_bucket=f"gs://{BUCKET}"
    )
    module: ModuleType = aiplatform
    return module


def send(aiplatform: ModuleType, code: str, name: str = "by-hand") -> Any:
    """Begin a custom job; returns the SDK's."""
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["python", "-c", code]},
    }
    job = aiplatform.CustomJob(display_name=name, worker_pool_specs=[pool])
    job.submit()
    return job


@pytest.fixture
def training_job(cloud: Status) -> Iterator[str]:
    """A training job of SageMaker's that runs until it is stopped."""
    s3, sagemaker = boto3.client("s3"), boto3.client("sagemaker")
    s3.create_bucket(Bucket=BUCKET)
    name = "from-boto3"
    sagemaker.create_training_job(
        TrainingJobName=name,
        RoleArn=ROLE,
        AlgorithmSpecification={
            "TrainingImage": TRAINING_IMAGE,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "-c", "import time\nwhile True: time.sleep(0.05)"],
        },
        OutputDataConfig={"S3OutputPath": f"s3://{BUCKET}/out"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 2, "VolumeSizeInGB": 10},
        StoppingCondition={"MaxRuntimeInSeconds": 600},
    )
    yield name


def until(visitor: Visitor, page: str, words: str) -> str:
    """The page as soon as it says this."""
    end = time.monotonic() + 60
    while words not in (answer := visitor.get(page)):
        assert time.monotonic() < end, answer.text
        time.sleep(0.05)
    return answer.text


def test_before_the_first_job_the_page_says_what_to_do(tmp_path: Any, visitor: Visitor) -> None:
    page = visitor.get("/console/jobs?q=there-is-none-of-this-name")
    assert "No job yet" in page or "None of the" in page


def test_a_job_is_followed_from_its_start_to_its_end(
    aiplatform: ModuleType, visitor: Visitor
) -> None:
    from google.cloud import storage

    job = send(aiplatform, TWO_EPOCHS % ("the log says: " + HOSTILE, BUCKET), HOSTILE)
    job_id = job.resource_name.rpartition("/")[2]
    page = f"/console/jobs/{job_id}"
    text = until(visitor, page, "validation loss <b>0.6800</b>")
    assert 'class="chip running">Running<' in text
    assert "<script>alert" not in text, "neither the job's name nor its log is HTML"
    assert "&lt;script&gt;alert(1)" in text and "{{7*7}}" in text
    assert "0 to 711" in text
    assert HOSTILE in visitor.get("/console/jobs") and HOSTILE in visitor.get("/console/")

    (begun,) = re.findall(r'data-from="(\d+)"', text)
    log = f"{page}/log?replica=workerpool0-0&from="
    storage.Client().bucket(BUCKET).blob("go").upload_from_string("")
    until(visitor, page, "validation loss <b>0.4500</b>")
    text = until(visitor, page, ">Succeeded<")
    content = json.loads(visitor.get(f"{log}{begun}").text)
    assert [line["text"][:7] for line in content["lines"]] == ["epoch 2"]
    assert content["ended"] and not content["more"]
    points = re.search(r'<polyline class="line c0" points="([^"]+)"', text)
    assert points and len(points[1].split()) == 2

    assert "Jobs" in visitor.press(page, "Delete the job")
    answer = visitor.get(page)
    assert answer.status == 404 and "it was deleted" in answer


def test_a_training_job_is_stopped_and_what_the_service_refuses_is_said(
    training_job: str, visitor: Visitor
) -> None:
    page = f"/console/jobs/{training_job}"
    until(visitor, page, ">Running<")
    text = visitor.get(page).text
    assert "algo-1" in text and "algo-2" in text and "TrainingJobName" in text
    token = re.search(r'name="form_token" value="([0-9a-f]+)"', text)
    assert token
    fields = {"form_token": token[1]}
    early = visitor.post(f"{page}/delete", fields)
    assert "stop+it+first" in early.headers["location"]
    assert "Refused." in visitor.get(f"{page}?refused=stop+it+first")
    visitor.press(page, "Stop the job")
    until(visitor, page, ">Cancelled<")
    assert "from-boto3" in visitor.get("/console/jobs?cloud=sagemaker&state=STOPPED")
    assert "from-boto3" not in visitor.get("/console/jobs?cloud=vertex")
    assert "from-boto3" not in visitor.get("/console/jobs?state=active")


def test_a_job_that_fails_says_why(aiplatform: ModuleType, visitor: Visitor) -> None:
    job = send(aiplatform, "print('all went well'); raise SystemExit('no table <b>here</b>')")
    page = f"/console/jobs/{job.resource_name.rpartition('/')[2]}"
    text = until(visitor, page, ">Failed<")
    assert "no table &lt;b&gt;here&lt;/b&gt;" in text
    assert visitor.press(page, "Delete the job").status == 200


def test_a_page_that_has_not_changed_is_not_sent_again(visitor: Visitor) -> None:
    first = visitor.get("/console/jobs")
    assert first.status == 200
    assert visitor.get("/console/jobs", If_None_Match=first.headers["etag"]).status == 304


def test_an_unknown_job_or_replica_is_a_sentence(visitor: Visitor) -> None:
    for path in ("jobs/123", "jobs/..", "jobs/123/log?replica=../../x"):
        answer = visitor.get(f"/console/{path}")
        assert answer.status == 404 and "<h1>Not found</h1>" in answer.text
