"""A local cloud to be treated badly, spoken to by plain requests, as every SDK does in the end."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from local_cloud.client import control
from local_cloud.client.home import Home
from local_cloud.json_types import Json
from testing.tally import Tally
from tests.torture.probe import Probe

PARENT = "/v1/projects/torture/locations/us-central1"
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest"
BUCKET = "torture"
QUERIES = "local_cloud.google.bigquery.duckdb.query_process"
ENDED = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")
# Runs a program from the bucket, for a job does not see the files of the machine's /tmp. A word of
# a command of SageMaker's has 256 characters at most.
FETCH = (
    "import os, urllib.request as r;"
    "url = os.environ['STORAGE_EMULATOR_HOST'] + '/storage/v1/b/{}/o/{}?alt=media';"
    "exec(r.urlopen(url).read())"
)


class Rig:
    """A server in a folder of its own, and what the parts do with it.

    A probe asks it all the time for its status. A part that ends or stops the server on purpose
    does so with `kill`, `stop` and `start`, or inside `with rig.away():`.
    """

    def __init__(self, folder: Path, tally: Tally | None = None) -> None:
        """folder: for the home, new. tally: where the longest time without an answer is noted."""
        self.home = Home(folder)
        self.tally = tally
        self._probe = Probe(self.home)

    def __enter__(self) -> Rig:
        """Start the server."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it, whatever state it is in."""
        longest = self._probe.end()
        control.stop(self.home)
        if self.tally:
            self.tally.silent(longest)

    def start(self) -> None:
        """Start the server; both clouds have a bucket then."""
        control.start(self.home)
        self._probe.say("back")
        self.ask("POST", "/storage/v1/b?project=torture", {"name": BUCKET})
        self.ask("PUT", f"/aws/{BUCKET}")

    def stop(self) -> None:
        """Stop the server as `python -m local_cloud stop` does."""
        self._probe.say("away")
        control.stop(self.home)

    def kill(self) -> None:
        """End the server by SIGKILL, and wait until it is gone."""
        self._probe.say("away")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.home.address()["pid"], signal.SIGKILL)
        end = time.monotonic() + 10
        while self.home.running() and time.monotonic() < end:
            time.sleep(0.01)

    def kill_queries(self) -> int:
        """End the process in which BigQuery's queries run by SIGKILL; how many there were."""
        killed = 0
        for process in _children(self.home.address()["pid"]):
            with contextlib.suppress(psutil.Error):
                if QUERIES in process.cmdline():
                    process.kill()
                    killed += 1
        return killed

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """The server is away on purpose in here, and answers again at the end."""
        self._probe.say("away")
        yield
        self._probe.say("back")

    @property
    def port(self) -> int:
        """The server's port."""
        return int(self.home.address()["port"])

    def ask(
        self, method: str, path: str, body: bytes | Json | None = None, **headers: str
    ) -> tuple[int, bytes]:
        """Send one request with the secret; its status and answer. OSError if nobody answers."""
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        return self.ask_raw(method, f"/{self.home.secret()}{path}", content, headers)

    def ask_raw(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        """Send one request to exactly this path; its status and answer. OSError as for `ask`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            try:
                connection.putrequest(method, path, skip_accept_encoding=True)
                for name, value in headers.items():
                    connection.putheader(name, value.encode("latin-1"))
                if content is not None:
                    connection.putheader("Content-Length", str(len(content)))
                connection.endheaders(content)
                answer = connection.getresponse()
                return answer.status, answer.read()
            except http.client.HTTPException as problem:
                raise OSError(f"the answer broke off: {problem!r}") from problem

    def get(self, path: str) -> Json:
        """A resource; OSError if it cannot be had."""
        status, body = self.ask("GET", path)
        if status != 200:
            raise OSError(f"{path}: {status} {body[:300]!r}")
        content: Json = json.loads(body)
        return content

    def store(self, name: str, content: bytes) -> None:
        """Store an object in Cloud Storage's bucket; OSError if it is not stored."""
        path = f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}"
        status, answer = self.ask("POST", path, content)
        if status != 200:
            raise OSError(f"{name} is not stored: {status} {answer[:300]!r}")

    def store_program(self, name: str, code: str) -> list[str]:
        """Store a program in Python; the command of a job, of either cloud, that runs it."""
        self.store(name, code.encode())
        return ["python", "-c", FETCH.format(BUCKET, name)]

    def send(self, *pools: list[str], name: str = "torture", **spec: Any) -> str:
        """Send a custom job, one pool for each command; its resource name."""
        body = {
            "displayName": name,
            "jobSpec": {"workerPoolSpecs": [pool(words) for words in pools], **spec},
        }
        status, answer = self.ask("POST", f"{PARENT}/customJobs", body)
        if status != 200:
            raise OSError(f"no job was made: {status} {answer[:300]!r}")
        return str(json.loads(answer)["name"])

    def train(self, name: str, words: list[str]) -> str:
        """Send a training job of SageMaker's; its name."""
        status, answer = self.sagemaker("CreateTrainingJob", training_job(name, words))
        if status != 200:
            raise OSError(f"no job was made: {status} {answer[:300]!r}")
        return name

    def sagemaker(self, operation: str, body: Json) -> tuple[int, bytes]:
        """One of SageMaker's operations."""
        headers = {"X-Amz-Target": f"SageMaker.{operation}"}
        return self.ask("POST", "/aws/", body, **headers)

    def state(self, job: str) -> str:
        """The state of a job of either cloud, in Vertex AI's words."""
        if "/" in job:
            return str(self.get(f"/v1/{job}")["state"])
        _, body = self.sagemaker("DescribeTrainingJob", {"TrainingJobName": job})
        words = {"Completed": 0, "Failed": 1, "Stopped": 2}
        status = json.loads(body).get("TrainingJobStatus", "missing")
        return ENDED[words[status]] if status in words else str(status)

    def wait(self, job: str, seconds: float) -> str:
        """The state of a job that has ended, or has had that long."""
        end = time.monotonic() + seconds
        while (state := self.state(job)) not in ENDED and time.monotonic() < end:
            time.sleep(0.1)
        return state

    def log(self, job: str) -> str:
        """What a job's replicas have written."""
        return "".join(log.read_text(errors="replace") for log in self._logs(job))

    def end_of_log(self, job: str) -> str:
        """The last that each of a job's replicas has written."""
        ends = []
        for path in self._logs(job):
            with path.open("rb") as log:
                log.seek(max(0, path.stat().st_size - 500))
                ends.append(log.read().decode(errors="replace"))
        return "\n".join(ends)

    def _logs(self, job: str) -> list[Path]:
        return sorted((self.home.data / "jobs" / job.rpartition("/")[2]).glob("*.log"))


def _children(pid: int) -> list[psutil.Process]:
    """The processes that a process has started; none if it is gone."""
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).children()
    return []


def pool(words: list[str]) -> Json:
    """A worker pool of one replica that runs this command."""
    return {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": {"imageUri": IMAGE, "command": words},
    }


def training_job(name: str, words: list[str], **changes: Any) -> Json:
    """A request for a training job of SageMaker's."""
    algorithm = {"TrainingImage": IMAGE, "TrainingInputMode": "File", "ContainerEntrypoint": words}
    return {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": algorithm,
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
        "ResourceConfig": {
            "InstanceType": "ml.m5.large",
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    } | changes


def processes(rig: Rig, job: str = "") -> list[int]:
    """Processes of this rig's engine, or of one of its jobs, that are there."""
    marks = {f"LOCAL_CLOUD_ENGINE={os.path.realpath(rig.home.data / 'jobs')}".encode()}
    if job:
        marks.add(f"LOCAL_CLOUD_JOB={job}".encode())
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marks <= {*(folder / "environ").read_bytes().split(b"\0")}:
                pids.append(int(folder.name))
        except OSError:
            continue
    return pids
