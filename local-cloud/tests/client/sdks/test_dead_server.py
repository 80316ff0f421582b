"""A server that has ended or is suspended: every SDK works again or says so, within seconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.client import control
from local_cloud.client.home import CHECKOUT, Home
from tests.client.test_process_state import suspend
from tests.notebook import Notebook
from tests.torture.rig import Rig

pytestmark = pytest.mark.slow

SOON = 30.0  # seconds; a few are usual, and two minutes were before


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home of this module's own; its server runs before and after each test."""
    home = Home(tmp_path_factory.mktemp("own") / "home")
    control.start(home)
    yield home
    control.stop(home)


@pytest.fixture(scope="module")
def notebook(own: Home) -> Iterator[Notebook]:
    one = Notebook(own)
    yield one
    one.end()


def kill(home: Home) -> None:
    """End the server without a warning, and wait until it is gone."""
    os.kill(home.address()["pid"], signal.SIGKILL)
    while home.running():
        pass


def test_after_a_crash_every_sdk_works_on(own: Home, notebook: Notebook) -> None:
    assert {said.text for said in notebook.ask()} == {"answered"}
    for _ in range(2):
        before = own.address()
        kill(own)
        answers = notebook.ask()
        assert {said.text for said in answers} == {"answered"}, answers
        assert max(said.seconds for said in answers) < SOON
        after = own.address()
        assert (after["port"], after["pid"] == before["pid"]) == (before["port"], False)


def test_after_a_stop_every_sdk_says_so_and_starts_nothing(own: Home, notebook: Notebook) -> None:
    notebook.ask()
    control.stop(own)
    for said in notebook.ask():
        assert said.text.startswith("LocalCloudError the local cloud was stopped at"), said
        assert "activate()" in said.text
        assert said.seconds < SOON
    assert not own.running()
    control.start(own)
    assert {said.text for said in notebook.ask()} == {"answered"}


def test_of_a_suspended_server_every_sdk_says_so(own: Home, notebook: Notebook) -> None:
    notebook.ask()
    pid = own.address()["pid"]
    suspend(pid)
    for said in notebook.ask():
        assert said.text.startswith("LocalCloudError The local cloud runs as process"), said
        assert said.seconds < SOON
    os.kill(pid, signal.SIGCONT)
    assert {said.text for said in notebook.ask()} == {"answered"}


def test_many_notebooks_start_one_server(own: Home) -> None:
    """Each waits for the one that starts it, and none starts a process in vain."""
    kill(own)
    begun: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def count(*words: object, **options: object) -> subprocess.Popen[bytes]:
        begun.append(popen(*words, **options))  # type: ignore[call-overload]
        return begun[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", count)
        threads = [threading.Thread(target=control.start_again, args=[own]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [process.pid for process in begun] == [own.address()["pid"]]


# Waits for a job in the two ways of the SDKs, and says how that ends.
WAITING = """
import sys
import local_cloud; local_cloud.activate()
from tests.console.filled_cloud import pool
from tests.torture.rig import BUCKET, training_job
code = "import time; time.sleep(600)"
def vertex():
    from google.cloud import aiplatform
    aiplatform.init(project="torture", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    job = aiplatform.CustomJob("waiting", [pool(code)])
    job.submit()
    return job._block_until_complete
def sagemaker():
    import boto3
    from sagemaker.core.resources import TrainingJob
    boto3.client("sagemaker").create_training_job(**training_job("waiting", ["python", "-c", code]))
    return TrainingJob.get("waiting").wait
wait = {"vertex": vertex, "sagemaker": sagemaker}[sys.argv[1]]()
print("waits", flush=True)
try:
    wait()
except Exception as problem:
    print(type(problem).__name__, " ".join(str(problem).split()), flush=True)
"""


@pytest.mark.parametrize("cloud", ["vertex", "sagemaker"])
@pytest.mark.parametrize("end", ["crash", "stop"])
def test_a_wait_for_a_job_ends(tmp_path: Path, cloud: str, end: str) -> None:
    """After a crash with the failure of the job, which has ended with the server."""
    with Rig(tmp_path / "home") as rig:
        waiting = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", WAITING, cloud],
            cwd=CHECKOUT,
            env=os.environ
            | {"LOCAL_CLOUD_HOME": str(rig.home.folder), "LOCAL_CLOUD_VERTEX_URL": ""},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert waiting.stdout
        assert "waits\n" in iter(waiting.stdout.readline, "")
        rig.kill() if end == "crash" else rig.stop()
        begun = time.monotonic()
        said = waiting.communicate()[0].splitlines()[-1]
        assert time.monotonic() - begun < SOON
        assert rig.home.running() == (end == "crash"), said
    if end == "stop":
        assert said.startswith("LocalCloudError the local cloud was stopped at"), said
    else:
        assert "LocalCloudError" not in said and "local cloud" in said, said
