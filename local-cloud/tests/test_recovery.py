"""Nothing that was acknowledged is lost when a server is killed at a bad moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.client import control
from local_cloud.client.home import Home
from tests.engine.support import alive, outside
from tests.google.vertex.support import IMAGE

HOUSE = Path(__file__).parents[1]  # in which `tests` is found
SET_UP = f"""
import os, sys, time
import local_cloud
local_cloud.activate()
from google.cloud import aiplatform, storage
aiplatform.init(project="p", location="us-central1", staging_bucket="gs://kept")
bucket = storage.Client().bucket("kept")
def pool(code):
    return [{{"machine_spec": {{"machine_type": "n1-standard-4"}}, "replica_count": 1,
            "container_spec": {{"image_uri": "{IMAGE}", "command": ["python", "-c", code]}}}}]
def job(code, others=0):
    pools = pool(code) + pool("import time; time.sleep(1000)") * (others > 0)
    if others: pools[1]["replica_count"] = others
    return aiplatform.CustomJob(display_name="kept", worker_pool_specs=pools)
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home")
    control.start(home)
    yield home
    control.stop(home)


def client(home: Home, code: str) -> subprocess.Popen[str]:
    """A notebook's kernel, so to speak: a process with the real SDKs."""
    names = ("LOCAL_CLOUD_VERTEX_URL", "STORAGE_EMULATOR_HOST")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.Popen(
        [sys.executable, "-c", SET_UP + code],
        cwd=HOUSE,
        env=clean | {"LOCAL_CLOUD_HOME": str(home.folder)},
        stdout=subprocess.PIPE,
        text=True,
    )


def say(home: Home, code: str) -> Any:
    """Run code to its end; the JSON that it prints last."""
    with client(home, f"import json\n{code}") as process:
        said, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(said.splitlines()[-1])


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


# Writes its process id where the test finds it, and stays until it is told to go on.
WAITING = """
import os, pathlib, time
print("here I am", flush=True)
pathlib.Path("/gcs/kept/pid.new").write_text(str(os.getpid()))
os.rename("/gcs/kept/pid.new", "/gcs/kept/pid")
while not os.path.exists("/gcs/kept/go"): time.sleep(0.05)
"""
CREATE = "bucket = storage.Client().create_bucket('kept')\n"


def pid_of(home: Home) -> int:
    """The process id, on this machine, of the job that waits; no other job of this home does."""
    note = home.data / "buckets" / "kept" / "pid"
    until(note.exists)
    inner = int(note.read_text())
    (log,) = (
        log
        for log in (home.data / "jobs").glob("*/*.log")
        if "here I am" in log.read_text(encoding="utf-8")
    )
    return outside(log, inner)


def test_a_killed_server_loses_nothing_that_it_had_acknowledged(own: Home) -> None:
    pid_of_server = control.status(own).facts["pid"]
    upload = (
        "bucket.blob('whole.bin').upload_from_string(b'x' * 3_000_000)\n"
        f"job({WAITING!r}, others=os.cpu_count()).submit()\n"  # takes the whole machine
        f"job('print(1)').submit()\njob('print(2)').submit()\njob('print(3)').submit()\n"
        "big = bucket.blob('half.bin', chunk_size=256 * 1024)\n"
        "import io\n"
        "class Slow(io.BytesIO):\n"
        "    def read(self, size=-1):\n"
        "        print('chunk', flush=True); time.sleep(0.05); return super().read(size)\n"
        "big.upload_from_file(Slow(b'y' * 20_000_000), size=20_000_000)\n"
    )
    notebook = client(own, CREATE + upload)
    pid = pid_of(own)
    assert notebook.stdout is not None
    for line in notebook.stdout:
        if line == "chunk\n":  # the upload has begun
            break
    os.kill(pid_of_server, signal.SIGKILL)
    notebook.kill()
    notebook.communicate()
    until(lambda: not alive(pid))  # although nobody has restarted the server

    control.start(own)
    blobs = say(
        own,
        "jobs = sorted(aiplatform.CustomJob.list(), key=lambda job: job.create_time)\n"
        "for job in jobs[1:]: job._block_until_complete()\n"
        "print(json.dumps({'jobs': [job.state.name for job in jobs],\n"
        "  'error': jobs[0].error.message,\n"
        "  'objects': sorted(b.name for b in bucket.list_blobs()),\n"
        "  'whole': len(bucket.blob('whole.bin').download_as_bytes())}))",
    )
    assert blobs["objects"] == ["pid", "whole.bin"]
    assert blobs["whole"] == 3_000_000
    assert blobs["jobs"][0] == "JOB_STATE_FAILED"
    assert "local cloud" in blobs["error"]
    assert set(blobs["jobs"][1:]) == {"JOB_STATE_SUCCEEDED"}  # queued then, run now
    logs = list((own.data / "jobs").glob("*/workerpool0-0.log"))
    assert any("here I am" in log.read_text() for log in logs)
