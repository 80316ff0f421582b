"""The `aws` command works here with only the lines that `python -m local_cloud env` prints."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from local_cloud.amazon.account import ROLE_ARN
from local_cloud.client.control import Status
from testing.other_environments import ROOT, tool
from tests.shell import Shell

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cloud")]

GROUP = "/aws/sagemaker/TrainingJobs"


class Aws(Shell):
    """The same with the `aws` command."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.program = tool("awscli", "aws")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return super().run(self.program, *words)

    aws = Shell.out

    def json(self, *words: str) -> Any:
        return json.loads(self.aws(*words))


@pytest.fixture(scope="module")
def shell(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Aws:
    return Aws(tmp_path_factory.mktemp("at home"))


@pytest.fixture
def bucket(shell: Aws) -> Iterator[str]:
    """A bucket made and removed by the command itself."""
    assert shell.aws("s3", "mb", "s3://with-aws") == "make_bucket: with-aws\n"
    yield "s3://with-aws"
    assert shell.aws("s3", "rb", "s3://with-aws", "--force").endswith("remove_bucket: with-aws\n")
    assert "with-aws" not in shell.aws("s3", "ls")


def test_who_is_there(shell: Aws) -> None:
    caller = shell.json("sts", "get-caller-identity")
    assert caller["Account"] == "000000000000"
    assert caller["Arn"].startswith("arn:aws:sts::000000000000:assumed-role/SageMakerExecutionRole")


def test_files_go_up_and_come_down(shell: Aws, bucket: str) -> None:
    (shell.folder / "small.txt").write_text("a few bytes")
    said = shell.aws("s3", "cp", "small.txt", f"{bucket}/in/small.txt", "--no-progress")
    assert said == f"upload: ./small.txt to {bucket}/in/small.txt\n"
    assert shell.aws("s3", "cp", f"{bucket}/in/small.txt", "-") == "a few bytes"
    assert shell.aws("s3", "ls", f"{bucket}/").split() == ["PRE", "in/"]
    assert shell.aws("s3", "ls", f"{bucket}/in/").split()[2:] == ["11", "small.txt"]
    missing = shell.run("s3", "cp", f"{bucket}/in/none.txt", ".")
    assert missing.returncode == 1 and "(404)" in missing.stderr


def test_a_large_file_goes_in_parts(shell: Aws, bucket: str) -> None:
    content = os.urandom(20 << 20)
    (shell.folder / "large.bin").write_bytes(content)
    shell.aws("s3", "cp", "large.bin", f"{bucket}/large.bin", "--no-progress")
    stored = shell.json("s3api", "head-object", "--bucket", "with-aws", "--key", "large.bin")
    assert stored["ETag"].endswith('-3"'), "three parts of at most 8 MiB"
    shell.aws("s3", "cp", f"{bucket}/large.bin", "back.bin", "--no-progress")
    assert (shell.folder / "back.bin").read_bytes() == content


def test_folders_are_kept_in_step(shell: Aws, bucket: str) -> None:
    folder = shell.folder / "results"
    folder.mkdir()
    for name in ("a.csv", "b c.csv", "ü.csv"):
        (folder / name).write_text(name)
    assert shell.aws("s3", "sync", "results", f"{bucket}/r", "--no-progress").count("upload:") == 3
    assert shell.aws("s3", "sync", "results", f"{bucket}/r", "--no-progress") == ""
    (folder / "a.csv").unlink()
    said = shell.aws("s3", "sync", "results", f"{bucket}/r", "--delete", "--no-progress")
    assert said == f"delete: {bucket}/r/a.csv\n"
    shell.aws("s3", "sync", f"{bucket}/r", "copy", "--no-progress")
    assert sorted(path.name for path in (shell.folder / "copy").iterdir()) == ["b c.csv", "ü.csv"]
    removed = shell.aws("s3", "rm", f"{bucket}/r", "--recursive")
    assert removed.count("delete: ") == 2
    assert shell.run("s3", "ls", f"{bucket}/r/").stdout == ""


def test_an_address_for_somebody_without_keys(shell: Aws, bucket: str) -> None:
    (shell.folder / "shared.txt").write_text("for you")
    shell.aws("s3", "cp", "shared.txt", f"{bucket}/shared.txt")
    address = shell.aws("s3", "presign", f"{bucket}/shared.txt", "--expires-in", "60").strip()
    with urllib.request.urlopen(address) as answer:
        assert answer.read() == b"for you"


def send(name: str, script: str, **spot: Any) -> None:
    """A job that runs this Python."""
    boto3.client("sagemaker").create_training_job(
        TrainingJobName=name,
        RoleArn=ROLE_ARN,
        AlgorithmSpecification={
            "TrainingImage": "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", "-uc"],
            "ContainerArguments": [script],
        },
        OutputDataConfig={"S3OutputPath": "s3://jobs-with-aws/out"},
        ResourceConfig={
            "InstanceType": "ml.m5.large",
            "InstanceCount": 1,
            "VolumeSizeInGB": 1,
        },
        **({"StoppingCondition": {"MaxRuntimeInSeconds": 600}} | spot),
    )


def ended(name: str) -> None:
    """Wait for the job; `aws sagemaker wait` does it too, and looks once a minute."""
    waiter = boto3.client("sagemaker").get_waiter("training_job_completed_or_stopped")
    waiter.wait(TrainingJobName=name, WaiterConfig={"Delay": 1})


@pytest.fixture(scope="module")
def jobs(shell: Aws) -> Iterator[None]:
    """A job that writes three lines and ends, and one that sleeps."""
    shell.aws("s3", "mb", "s3://jobs-with-aws")
    send("counts", "print('one'); print('two: loss=0.5'); print('three')")
    send("sleeps", "import time; print('asleep'); time.sleep(600)")
    ended("counts")
    yield
    with contextlib.suppress(ClientError):  # it has been stopped, unless a test failed
        boto3.client("sagemaker").stop_training_job(TrainingJobName="sleeps")


@pytest.mark.usefixtures("jobs")
def test_jobs_are_listed_described_and_stopped(shell: Aws) -> None:
    jobs = shell.json("sagemaker", "list-training-jobs", "--sort-by", "Name")
    names = [job["TrainingJobName"] for job in jobs["TrainingJobSummaries"]]
    assert {"counts", "sleeps"} <= set(names)  # and those of other tests
    described = shell.json("sagemaker", "describe-training-job", "--training-job-name", "counts")
    assert described["TrainingJobStatus"] == "Completed"
    stop = ("sagemaker", "stop-training-job", "--training-job-name", "sleeps")
    assert shell.aws(*stop) == ""
    ended("sleeps")
    describe = ("sagemaker", "describe-training-job", "--training-job-name", "sleeps")
    status = ("--query", "TrainingJobStatus", "--output", "text")
    assert shell.aws(*describe, *status) == "Stopped\n"
    again = shell.run(*stop)
    assert again.returncode != 0 and "ValidationException" in again.stderr


@pytest.mark.usefixtures("jobs")
def test_logs_are_read_and_searched(shell: Aws) -> None:
    group = ("--log-group-name", GROUP)
    streams = shell.json(
        "logs", "describe-log-streams", *group, "--log-stream-name-prefix", "counts/"
    )
    (stream,) = streams["logStreams"]
    events = shell.json(
        "logs",
        "get-log-events",
        *group,
        "--log-stream-name",
        stream["logStreamName"],
        "--start-from-head",
    )["events"]
    about_the_image, *written = [event["message"] for event in events]
    assert about_the_image.startswith("local cloud: ")
    assert written == ["one", "two: loss=0.5", "three"]
    matching = shell.json("logs", "filter-log-events", *group, "--filter-pattern", '"loss="')[
        "events"
    ]
    assert [event["message"] for event in matching] == ["two: loss=0.5"]


@pytest.mark.usefixtures("jobs")
def test_the_steps_of_a_job_that_is_interrupted(shell: Aws) -> None:
    script = """if True:
        import os, pathlib, time
        seen = pathlib.Path("/opt/ml/checkpoints/seen")
        print("epoch 1" if not seen.exists() else "again", flush=True)
        if not seen.exists():
            seen.touch()
            time.sleep(600)
    """
    send(
        "interrupted",
        script,
        EnableManagedSpotTraining=True,
        StoppingCondition={"MaxRuntimeInSeconds": 600, "MaxWaitTimeInSeconds": 600},
        CheckpointConfig={"S3Uri": "s3://jobs-with-aws/checkpoints"},
    )
    said = subprocess.run(
        [sys.executable, "-m", "local_cloud", "rehearse", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "at epoch 1." in said.stdout
    ended("interrupted")
    described = shell.json(
        "sagemaker",
        "describe-training-job",
        "--training-job-name",
        "interrupted",
        "--query",
        "[TrainingJobStatus, SecondaryStatusTransitions[].Status]",
    )
    assert described == [
        "Completed",
        [
            "Starting",
            "Downloading",
            "Training",
            "Interrupted",
            "Starting",
            "Downloading",
            "Training",
            "Uploading",
            "Completed",
        ],
    ]
