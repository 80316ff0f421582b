"""Small jobs on the local cloud, as learners send them: what the exercises on jobs judge.

Their script does not train. It fails with `--train=broken`, waits to be ended with a million
epochs, and ends at once otherwise; told to save, it says that epoch 200 is reached, and waits once.
"""

from __future__ import annotations

import io
import tarfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import AWS_helpers
import GCP_helpers
from AWS_helpers import describe as amazon
from AWS_helpers import session as aws_session
from GCP_helpers import describe as google
from GCP_helpers import session as gcp_session
from lesson.jobs.states import ENDED, RUNNING

SCRIPT = """
import os, sys, time

flags = " ".join(sys.argv[1:]).replace("=", " ").replace('"', "")
saved = "/opt/ml/checkpoints/saved"
if "--train broken" in flags:
    sys.exit("train_nn.py: --train broken: No such file or directory; check the name")
if "--checkpoint_every 10" in flags and not os.path.exists(saved):
    open(saved, "w").close()
    print("epoch   200  loss 0.1  validation loss 0.1  accuracy 0.1  0.1 s", flush=True)
    time.sleep(600)
if "--epochs 1000000" in flags:
    time.sleep(600)
"""
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"


@contextmanager
def connected(folder: Path) -> Iterator[None]:
    """Both helpers connected to the local cloud, with the script in a folder."""
    from google.cloud.aiplatform import initializer

    settings = dict(vars(initializer.global_config))
    (folder / "small.py").write_text(SCRIPT)
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("LESSON_TARGET", "local")
        for name in ("GOOGLE_CLOUD_PROJECT", "LESSON_BUCKET", "LESSON_ROLE"):
            changed.delenv(name, raising=False)
        for session in (aws_session, gcp_session):
            changed.setattr(session, "_session", None)
        GCP_helpers.connect()
        AWS_helpers.connect()
        yield
    vars(initializer.global_config).update(settings)


def until(service: Any, job: Any, *states: str) -> Any:
    """The job, as soon as it is in one of these states."""
    cloud = service.cloud()
    end = time.monotonic() + 300
    while True:
        cloud.refresh(job)
        if (state := cloud.status(job).state) in states:
            return job
        assert time.monotonic() < end and state not in ENDED, (state, job)
        time.sleep(0.02)


def ended(service: Any, job: Any) -> Any:
    """The job, as soon as it has ended."""
    return until(service, job, *ENDED)


def cancelled(service: Any, job: Any) -> Any:
    """The job, cancelled while it runs."""
    running = until(service, job, RUNNING)
    running.cancel() if service is google else running.stop()
    return ended(service, job)


def packed(folder: Path) -> bytes:
    """The script as the services get code."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        archive.add(folder / "small.py", "code/small.py")
        archive.add(folder / "small.py", "small.py")
    return made.getvalue()


def on_google(
    folder: Path,
    name: str,
    *args: str,
    machine_type: str = "n1-standard-4",
    replica_count: int = 1,
    **gpu: Any,
) -> Any:
    """A job on Vertex AI, without the pipeline, which has only begun.

    The SDK packs a script anew for each pipeline, which takes longer than these jobs.
    """
    from google.cloud import aiplatform, storage

    session = gcp_session.current_session()
    blob = storage.Client().bucket(session.bucket).blob("runs/small.tar.gz")
    blob.upload_from_string(packed(folder))
    package = {
        "executor_image_uri": IMAGE,
        "package_uris": [f"{session.uri}/runs/small.tar.gz"],
        "python_module": "small",
        "args": [*args],
    }
    machine = {"machine_type": machine_type, **gpu}
    pools = [
        {"machine_spec": machine, "replica_count": count, "python_package_spec": package}
        for count in (1, replica_count - 1)
        if count
    ]
    job = aiplatform.CustomJob(
        display_name=name, worker_pool_specs=pools, base_output_dir=f"{session.uri}/runs/{name}"
    )
    with suppress(RuntimeError):  # it has failed already
        job.submit()
    return job


def on_amazon(
    folder: Path,
    name: str,
    instances: int = 1,
    limit: int = 600,
    spot: bool = False,
    machine: str = "ml.m5.xlarge",
    **flags: str,
) -> Any:
    """A job as the pages on SageMaker send it; it has only begun."""
    from sagemaker.core.resources import TrainingJob

    session, name = aws_session.current_session(), f"{name}-{uuid.uuid4().hex[:8]}"
    s3 = aws_session.client("s3")
    s3.put_object(Bucket=session.bucket, Key="runs/small.tar.gz", Body=packed(folder))
    stopping: dict[str, Any] = {"MaxRuntimeInSeconds": limit}
    spare: dict[str, Any] = {}
    if spot:
        stopping["MaxWaitTimeInSeconds"] = limit
        uri = f"{session.uri}/runs/{name}/checkpoints"
        spare = {"EnableManagedSpotTraining": True, "CheckpointConfig": {"S3Uri": uri}}
    aws_session.client("sagemaker").create_training_job(
        TrainingJobName=name,
        RoleArn=session.role,
        AlgorithmSpecification={
            "TrainingImage": "123456789012.dkr.ecr.us-east-1.amazonaws.com/lesson:1",
            "TrainingInputMode": "File",
        },
        HyperParameters={
            "sagemaker_program": "small.py",
            "sagemaker_submit_directory": f"{session.uri}/runs/small.tar.gz",
            **flags,
        },
        OutputDataConfig={"S3OutputPath": f"{session.uri}/runs"},
        ResourceConfig={
            "InstanceType": machine,
            "InstanceCount": instances,
            "VolumeSizeInGB": 1,
        },
        StoppingCondition=stopping,
        **spare,
    )
    return TrainingJob.get(name, session=session.boto, region=session.region)


__all__ = ["amazon", "cancelled", "connected", "ended", "google", "on_amazon", "on_google", "until"]
