"""A job puts something else in the place of its log: lists leave that out, and nothing is harmed.

The job is hostile, or a script that clears its folder. What it links to is a file of the user's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest

from local_cloud.client.control import Status
from local_cloud.console.records import logs as console_logs
from local_cloud.engine.jobs import attempt_runner
from local_cloud.engine.logs import log_timestamps
from local_cloud.engine.logs.log_marks import Marks
from local_cloud.engine.serving.request_log import RequestLog
from local_cloud.engine.spec import State
from testing.visitor import Visitor
from tests.engine.support import Cloud, engine, plan, python, run, until

SECRET = b"a-secret-that-nobody-reads"
# How a job replaces its log, or its log's marks, whose path is `log`; `private` is the user's file.
REPLACED = {
    "a link": "os.unlink(log); os.symlink(private, log)",
    "a link that leads nowhere": "os.unlink(log); os.symlink(private + '.not', log)",
    "a link to itself": "os.unlink(log); os.symlink(log, log)",
    "a hard link": "os.unlink(log); os.link(private, log)",
    "a socket": "os.unlink(log); make_socket(log)",
    "a pipe": "os.unlink(log); os.mkfifo(log)",
    "a folder": "os.unlink(log); os.mkdir(log)",
    "its folder is a link": "os.rename(own, own + '.away'); os.symlink(own + '.away', own)",
}
CODE = """
import os, socket, sys, time
def make_socket(path):
    here = os.getcwd()
    os.chdir(os.path.dirname(path))  # a socket's path may have 107 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.basename(path))
    os.chdir(here)
log, private = os.readlink("/proc/self/fd/1"), {private!r}
own = os.path.dirname(log)
print("said before", flush=True)
{replace}
"""
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A file of the user's, in which the secret is; nobody reads or changes it."""
    path = tmp_path / "secret"
    path.write_bytes(SECRET + b"\n")
    return path


def code(how: str, private: Path, then: str = "") -> str:
    return CODE.format(private=str(private), replace=REPLACED[how]) + then


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_runner, "PAUSE", 0.05)


@pytest.mark.parametrize("how", REPLACED)
def test_masking_changes_no_other_file(how: str, private: Path, tmp_path: Path) -> None:
    """Nor do the marks, the notes of a second attempt, or the recovery after a killed server."""
    hostile = python(code(how, private, "sys.exit(5)"))
    cloud = Cloud(job=plan(hostile, hostile, retries=1, retried=(5,)))

    async def story() -> None:
        async with engine(tmp_path / "home", cloud) as here:
            here.hidden = SECRET
            here.submit("cloud", "job", 2)
            ended = await until(here, "job")
            assert ended.state is State.FAILED
            await log_timestamps.recover(here.logs("job").values(), SECRET)

    run(story())
    assert private.read_bytes() == SECRET + b"\n"
    assert not private.with_name("secret.not").exists()


# How a job has a folder of the user's, `private`, taken for one of its own, `own` or `own`/r0.
FOLDERS = {
    "the job's": "os.rename(own, own + '.away'); os.symlink(private, own)",
    "the replica's": "os.rename(own + '/r0', own + '/away'); os.symlink(private, own + '/r0')",
}


@pytest.mark.parametrize("which", FOLDERS)
def test_a_second_attempt_empties_no_folder_of_the_user(which: str, tmp_path: Path) -> None:
    """What the first one has left is removed, and so is each replica's folder for temporaries."""
    private = tmp_path / "of the user"
    for name in ("kept", ".tmp", "r0", ".home", ".python"):
        (private / name).mkdir(parents=True)
        (private / name / "file").touch()
    before = sorted(private.rglob("*"))
    text = CODE.format(private=str(private), replace=FOLDERS[which]) + "sys.exit(5)"
    cloud = Cloud(job=plan(python(text), retries=1, retried=(5,)))

    async def story() -> None:
        async with engine(tmp_path / "h", cloud) as here:
            here.submit("cloud", "job", 1)
            assert (await until(here, "job")).state is State.FAILED

    run(story())
    assert sorted(private.rglob("*")) == before


@pytest.mark.parametrize("how", [how for how in REPLACED if "folder" not in how])
def test_marks_are_written_through_no_link(how: str, private: Path, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    log = tmp_path / "job/r0.log"
    log.write_text("one\n")
    names = {"log": str(Marks(log).path), "private": str(private), "own": str(log.parent)}
    Marks(log).path.touch()
    exec(CODE.split("log, private")[0] + REPLACED[how], names)
    log_timestamps.mark(log)
    log.write_text("one\ntwo\n")
    log_timestamps.mark(log, SECRET)
    assert [line.text for line in log_timestamps.lines(log)] == ["one", "two"]
    assert private.read_bytes() == SECRET + b"\n"


def test_a_hard_linked_log_is_neither_masked_nor_shown(private: Path, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    log = tmp_path / "job/r0.log"
    os.link(private, log)
    assert not log_timestamps.mark(log, SECRET)
    assert private.read_bytes() == SECRET + b"\n"
    assert list(log_timestamps.lines(log)) == []
    assert log_timestamps.span(log) is None and log_timestamps.tail(log, 1) == 0


def test_requests_are_noted_through_no_link(private: Path, tmp_path: Path) -> None:
    """A served model is foreign code too, and its folder is where its requests are noted."""
    (tmp_path / "blue").mkdir()
    noted = tmp_path / "blue/requests.jsonl"
    for make in (noted.symlink_to, noted.hardlink_to):
        noted.unlink(missing_ok=True)
        make(private)
        requests = RequestLog(noted.parent)
        requests.write(1.0, 0.5, status=200, path="/predict")
        requests.flush()
        assert private.read_bytes() == SECRET + b"\n"
        assert json.loads(noted.read_text())["path"] == "/predict"


@pytest.fixture(scope="module")
def well_behaved(cloud: Status) -> str:
    """The id of a custom job that leaves its log alone."""
    from google.cloud import aiplatform, storage

    storage.Client().create_bucket("replaced-logs")
    aiplatform.init(project="replaced", location="us-central1", staging_bucket="gs://replaced-logs")
    return custom_job()


def custom_job() -> str:
    """The id of a custom job that has ended, and has said that it behaves well."""
    from google.cloud import aiplatform

    pool: Any = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
    pool["container_spec"] = {
        "image_uri": IMAGE,
        "command": ["python", "-c", "print('well behaved')"],
    }
    job = aiplatform.CustomJob(display_name="replaced", worker_pool_specs=[pool])
    job.submit()
    _until(lambda: job.state.name.endswith(("SUCCEEDED", "FAILED")))
    return str(job.resource_name.rpartition("/")[2])


@pytest.fixture(scope="module", params=REPLACED)
def hostile(
    cloud: Status,
    well_behaved: str,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, str]:
    """The ids of the job that leaves its log alone, and of one whose log is replaced.

    No job reaches its log where it has a root of its own: another process replaces it.
    """
    private = tmp_path_factory.mktemp("private") / "file"
    private.write_text("of-the-user")
    name = custom_job()
    replace(cloud.home.data / "jobs" / name / "workerpool0-0.log", request.param, private)
    return well_behaved, name


def replace(log: Path, how: str, private: Path) -> None:
    """Run what replaces a log, as a process that writes to it."""
    with log.open("ab") as file:
        subprocess.run([sys.executable, "-c", code(how, private)], stdout=file, check=True)


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("order", ["timestamp asc", "timestamp desc"])
def test_cloud_logging_lists_the_other_logs(
    cloud: Status, hostile: tuple[str, str], order: str
) -> None:
    url = f"{cloud.home.url(cloud.port)}/v2/entries:list"
    asked = {"resourceNames": ["projects/replaced"], "orderBy": order}
    body = json.dumps(asked).encode()
    with urlopen(Request(url, body, {"Content-Type": "application/json"})) as answer:
        entries = json.loads(answer.read())["entries"]
    entries_shown = {
        (each["resource"]["labels"]["job_id"], each["textPayload"]) for each in entries
    }
    assert (hostile[0], "well behaved") in entries_shown
    assert not any("of-the-user" in text for _, text in entries_shown)


def test_the_console_says_so_at_its_place(cloud: Status, hostile: tuple[str, str]) -> None:
    visitor = Visitor.of(cloud)
    for page in ("", "jobs", "search?q=replaced", f"jobs/{hostile[0]}"):
        assert visitor.get(f"/console/{page}").status == 200
    page = visitor.get(f"/console/jobs/{hostile[1]}")
    assert page.status == 200 and "of-the-user" not in page
    log = visitor.get(f"/console/jobs/{hostile[1]}/log?replica=workerpool0-0&from=0")
    assert log.status == 200 and "of-the-user" not in log
    assert "this log cannot be shown, because the job has put something else" in page
    assert "cannot be read" in page


def test_the_sentence_is_said_once(tmp_path: Path) -> None:
    """A page asks for what comes after what it has."""
    (tmp_path / "job").mkdir()
    log = tmp_path / "job/r0.log"
    log.symlink_to("/etc/passwd")
    first = console_logs.piece(log, 0, ended=False)
    assert [line["text"] for line in first["lines"]] == [console_logs.REPLACED.format("r0.log")]
    assert console_logs.piece(log, first["next"], ended=False)["lines"] == []


def test_cloudwatch_lists_the_other_logs(cloud: Status, tmp_path: Path) -> None:
    private = tmp_path / "file"
    private.write_text("of-the-user")
    s3, sagemaker, logs = (boto3.client(name) for name in ("s3", "sagemaker", "logs"))
    s3.create_bucket(Bucket="replaced-logs")
    names = {"well-behaved": ""} | {how.replace(" ", "-"): how for how in REPLACED}
    text = "print('well behaved')"
    for name in names:
        s3.put_object(Bucket="replaced-logs", Key=f"{name}/task.py", Body=text.encode())
        source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://replaced-logs/{name}/"}
        sagemaker.create_training_job(
            TrainingJobName=name,
            RoleArn="arn:aws:iam::000000000000:role/SageMakerExecutionRole",
            AlgorithmSpecification={
                "TrainingImage": "763104351884.dkr.ecr.us-east-1.amazonaws.com/"
                "pytorch-training:2.8-cpu-py312",
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/task.py"],
                "MetricDefinitions": [{"Name": "m", "Regex": "user=([0-9]+)"}],
            },
            InputDataConfig=[{"ChannelName": "code", "DataSource": {"S3DataSource": source}}],
            OutputDataConfig={"S3OutputPath": "s3://replaced-logs/out"},
            ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
            StoppingCondition={"MaxRuntimeInSeconds": 600},
        )
    for name, how in names.items():
        waiter = sagemaker.get_waiter("training_job_completed_or_stopped")
        waiter.wait(TrainingJobName=name, WaiterConfig={"Delay": 0})
        if how:
            replace(cloud.home.data / "jobs" / name / "algo-1.log", how, private)
    group = "/aws/sagemaker/TrainingJobs"
    assert any(one["logGroupName"] == group for one in logs.describe_log_groups()["logGroups"])
    streams = logs.describe_log_streams(logGroupName=group)["logStreams"]
    events = logs.filter_log_events(logGroupName=group)["events"]
    assert "well behaved" in [each["message"] for each in events]
    assert "of-the-user" not in str(events)
    for one in streams:
        log_events = logs.get_log_events(logGroupName=group, logStreamName=one["logStreamName"])
        assert "of-the-user" not in str(log_events)
