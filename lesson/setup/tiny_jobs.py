"""The smallest job that each cloud takes: sent to the local cloud, waited for, and deleted.

The check of the set-up sends them. They use the services' own clients, which print nothing. Their
code is sent as the SDKs send a script: packed, so that the local cloud has to unpack it.
"""

from __future__ import annotations

import io
import os
import tarfile
import time
import uuid
from collections.abc import Callable

from lesson import LessonError

CODE = "print('It runs.')\n"
MODULE = "lesson_check"
LONGEST = 20.0  # seconds to wait for one; less than one is usual
NAME = "lesson-check"


def vertex() -> float:
    """Run a custom job on Vertex AI; return its seconds, or raise LessonError."""
    import local_cloud

    local_cloud.activate()
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import aiplatform_v1, storage

    bucket = storage.Client(project=NAME).create_bucket(f"{NAME}-{uuid.uuid4().hex[:12]}")
    bucket.blob("code.tar.gz").upload_from_string(pack(f"code/{MODULE}.py"))
    client = aiplatform_v1.JobServiceClient(
        client_options={"api_endpoint": os.environ["LOCAL_CLOUD_VERTEX_URL"]},
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        transport="rest",
    )
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "python_package_spec": {
            "executor_image_uri": "example.com/lesson/check:1",
            "package_uris": [f"gs://{bucket.name}/code.tar.gz"],
            "python_module": MODULE,
        },
    }
    begun = time.monotonic()
    job = client.create_custom_job(
        {
            "parent": f"projects/{NAME}/locations/us-central1",
            "custom_job": {"display_name": NAME, "job_spec": {"worker_pool_specs": [pool]}},
        }
    )
    state = _end(
        lambda: client.get_custom_job(name=job.name).state.name.removeprefix("JOB_STATE_"),
        lambda: client.cancel_custom_job(name=job.name),
    )
    seconds, error = time.monotonic() - begun, client.get_custom_job(name=job.name).error.message
    client.delete_custom_job(name=job.name)
    bucket.delete(force=True)
    if state != "SUCCEEDED":
        raise LessonError(f"the job ended as {state}: {error or 'no reason given'}")
    return seconds


def sagemaker() -> float:
    """Run a training job on SageMaker; return its seconds, or raise LessonError."""
    import local_cloud

    local_cloud.activate()
    import boto3

    client, name = boto3.client("sagemaker"), f"{NAME}-{uuid.uuid4().hex[:12]}"
    bucket = boto3.resource("s3").create_bucket(Bucket=name)  # a job has to name an output
    bucket.put_object(Key="code.tar.gz", Body=pack(f"{MODULE}.py"))
    role = boto3.client("iam").get_role(RoleName="SageMakerExecutionRole")["Role"]["Arn"]
    begun = time.monotonic()
    client.create_training_job(
        TrainingJobName=name,
        RoleArn=role,
        AlgorithmSpecification={
            "TrainingImage": "123456789012.dkr.ecr.us-east-1.amazonaws.com/lesson-check:1",
            "TrainingInputMode": "File",
        },
        HyperParameters={
            "sagemaker_program": f"{MODULE}.py",
            "sagemaker_submit_directory": f"s3://{name}/code.tar.gz",
        },
        OutputDataConfig={"S3OutputPath": f"s3://{name}"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 60},
    )
    state = _end(
        lambda: client.describe_training_job(TrainingJobName=name)["TrainingJobStatus"],
        lambda: client.stop_training_job(TrainingJobName=name),
    )
    seconds, described = (
        time.monotonic() - begun,
        client.describe_training_job(TrainingJobName=name),
    )
    client.delete_training_job(TrainingJobName=name)
    bucket.objects.delete()
    bucket.delete()
    if state != "Completed":
        reason = described.get("FailureReason", "no reason given")
        raise LessonError(f"the job ended as {state}: {reason}")
    return seconds


def pack(name: str) -> bytes:
    """Return a .tar.gz with the job's code, as a file of this name."""
    made, member = io.BytesIO(), tarfile.TarInfo(name)
    member.size = len(CODE)
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        archive.addfile(member, io.BytesIO(CODE.encode()))
    return made.getvalue()


def _end(state: Callable[[], str], cancel: Callable[[], object]) -> str:
    """Wait for the state in which the job has ended; cancel one that takes too long."""
    end = time.monotonic() + LONGEST
    while (now := state()).upper() not in ("SUCCEEDED", "COMPLETED", "FAILED", "CANCELLED"):
        if time.monotonic() > end:
            cancel()
            raise LessonError(
                f"the job had not ended after {LONGEST:.0f} s, and was cancelled: do others run? "
                "`python -m local_cloud status` tells; then check again"
            )
        time.sleep(0.05)
    return now
