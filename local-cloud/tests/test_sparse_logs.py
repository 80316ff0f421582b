"""A job makes its log a terabyte long, of holes: nobody reads that, and the server lives on."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.client import control
from local_cloud.client.control import Status
from local_cloud.client.home import Home
from testing.visitor import Visitor
from tests.google.vertex.support import IMAGE

TIB = 1 << 40
MOST_MEMORY = 1 << 30  # bytes of the server at its largest; idle, it has a fifth of that
LARGEST_PAGE = 11_000_000  # bytes of a page of entries, with what is around them
CODE = f"""
import os, time
print("before", flush=True)
os.ftruncate(1, {TIB})
print("\\nafter", dict(os.environ), flush=True)
os.ftruncate(1, {2 * TIB})
while not os.path.exists("/gcs/sparse/go"): time.sleep(0.05)
"""


class Sparse:
    """A local cloud with a job whose log is sparse."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.status: Status = control.start(home)
        self.ask("/storage/v1/b?project=p", {"name": "sparse"})
        spec = {
            "machineSpec": {"machineType": "n1-standard-4"},
            "replicaCount": 1,
            "containerSpec": {"imageUri": IMAGE, "command": ["python", "-c", CODE]},
        }
        body = {"displayName": "sparse", "jobSpec": {"workerPoolSpecs": [spec]}}
        self.name = self.ask("/v1/projects/p/locations/us-central1/customJobs", body)["name"]
        self.job = self.name.rpartition("/")[2]

    def ask(self, path: str, body: Any = None) -> Any:
        return json.loads(self.read(path, body))

    def read(self, path: str, body: Any = None) -> bytes:
        request = urllib.request.Request(
            f"{self.status.url}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            content: bytes = answer.read()
        return content

    def entries(self, order: str = "asc") -> list[str]:
        """The texts of the job's log, whose pages are no longer than a page may be."""
        asked = {"resourceNames": ["projects/p"], "orderBy": f"timestamp {order}"}
        texts, token = [], ""
        while True:
            content = self.read("/v2/entries:list", asked | {"pageToken": token})
            assert len(content) < LARGEST_PAGE
            page = json.loads(content)
            texts += [entry["textPayload"] for entry in page["entries"]]
            if not (token := page.get("nextPageToken", "")):
                return [text[:6].strip() for text in texts if text]

    def until(self, state: str) -> None:
        end = time.monotonic() + 60
        while self.ask(f"/v1/{self.name}")["state"] != state:
            assert time.monotonic() < end
            time.sleep(0.05)

    def memory(self) -> int:
        """The most that the server has had."""
        text = Path(f"/proc/{self.status.facts['pid']}/status").read_text()
        (line,) = (line for line in text.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    def kill(self) -> None:
        pid = self.status.facts["pid"]
        os.kill(pid, signal.SIGKILL)
        self.status = control.start(self.home)
        assert self.status.facts["pid"] != pid


@pytest.fixture
def sparse(tmp_path: Path) -> Iterator[Sparse]:
    home = Home(tmp_path / "home")
    yield Sparse(home)
    control.stop(home)


def written(sparse: Sparse) -> None:
    """Wait until the job has written its lines."""
    log = sparse.home.data / "jobs" / sparse.job / "workerpool0-0.log"
    end = time.monotonic() + 60
    while not (log.exists() and log.stat().st_size == 2 * TIB):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_running_job_an_ended_one_and_one_that_a_killed_server_has_left(sparse: Sparse) -> None:
    written(sparse)
    for order in ("asc", "desc"):
        lines = [text for text in sparse.entries(order) if text in ("before", "after")]
        assert lines == (["before", "after"] if order == "asc" else ["after", "before"])
    page = Visitor.of(sparse.status).get(f"/console/jobs/{sparse.job}")
    assert page.status == 200 and sparse.home.secret() not in page.text
    assert sparse.memory() < MOST_MEMORY

    sparse.kill()
    sparse.until("JOB_STATE_FAILED")
    assert [text for text in sparse.entries() if text in ("before", "after")] == ["before", "after"]
    log = sparse.home.data / "jobs" / sparse.job / "workerpool0-0.log"
    held = os.open(log, os.O_RDONLY)
    assert sparse.home.secret().encode() not in os.pread(held, 1 << 20, TIB)
    os.close(held)
    assert Visitor.of(sparse.status).get(f"/console/jobs/{sparse.job}").status == 200
    assert sparse.memory() < MOST_MEMORY


def test_a_job_with_such_a_log_comes_to_its_end(sparse: Sparse) -> None:
    written(sparse)
    (sparse.home.data / "buckets" / "sparse" / "go").touch()
    sparse.until("JOB_STATE_SUCCEEDED")
    assert [text for text in sparse.entries() if text in ("before", "after")] == ["before", "after"]
    assert sparse.memory() < MOST_MEMORY
