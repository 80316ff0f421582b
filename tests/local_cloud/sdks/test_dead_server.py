"""A server that has ended or is suspended: every SDK works again or says so, within seconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from local_cloud import control
from local_cloud.home import CHECKOUT, Home
from tests.local_cloud.test_suspended import suspend

pytestmark = pytest.mark.slow

# A notebook's kernel, so to speak. For each line that it reads it makes all its calls, each with a
# clock: the SDKs' own patience is two minutes, so none may come near to that.
NOTEBOOK = """
import sys, time
import local_cloud; local_cloud.activate()
import boto3
from google.cloud import aiplatform, bigquery, storage
aiplatform.init(project="p", location="us-central1")
gcs, s3, sagemaker = storage.Client(), boto3.client("s3"), boto3.client("sagemaker")
queries, logs = bigquery.Client(), boto3.client("logs")
CALLS = {
    "storage": lambda: list(gcs.list_buckets()),
    "aiplatform": aiplatform.CustomJob.list,
    "bigquery": lambda: list(queries.query("SELECT 1").result()),
    "logs": logs.describe_log_groups,
    "s3": s3.list_buckets,
    "sagemaker": sagemaker.list_training_jobs,
}
print("ready", flush=True)
for _ in sys.stdin:
    for name, call in CALLS.items():
        begun = time.monotonic()
        try:
            call()
            said = "answered"
        except Exception as problem:
            said = f"{type(problem).__name__} {problem}"
        print(name, round(time.monotonic() - begun, 2), " ".join(said.split()), flush=True)
"""
SDKS = 6
SOON = 30.0  # seconds; a few are usual, and two minutes were before


class Said(NamedTuple):
    """What came of one call."""

    name: str
    seconds: float
    text: str


class Notebook:
    """A process with the real SDKs."""

    def __init__(self, home: Home) -> None:
        named = {"LOCAL_CLOUD_HOME": str(home.folder), "LOCAL_CLOUD_VERTEX_URL": ""}
        self._process = subprocess.Popen(
            [sys.executable, "-c", NOTEBOOK],
            cwd=CHECKOUT,
            env=os.environ | named,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def ask(self) -> list[Said]:
        """Have it make every call."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        lines = [self._line().split(" ", 2) for _ in range(SDKS)]
        return [Said(name, float(seconds), text) for name, seconds, text in lines]

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


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
        found = notebook.ask()
        assert {said.text for said in found} == {"answered"}, found
        assert max(said.seconds for said in found) < SOON
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
