"""A path that is too long and a disk that is read-only: a sentence each, and no traceback."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.client import control
from local_cloud.client.home import CHECKOUT, LONGEST, Home
from local_cloud.disk_errors import say
from local_cloud.engine import system
from local_cloud.errors import LocalCloudError

AS_ROOT = ["unshare", "--mount", "sh", "-ec"]
AS_USER = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"]


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (
            OSError(errno.EROFS, "Read-only file system", "/data/jobs/1"),
            "the local cloud cannot use /data/jobs/1 (Read-only file system): mount that disk for"
            " writing",
        ),
        (
            OSError(errno.ENAMETOOLONG, "File name too long", "/data/" + "x" * 999),
            f"the local cloud cannot use …{'x' * 200} (File name too long): choose a shorter name",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/data"),
            "the local cloud cannot use /data (Permission denied): do this",
        ),
        (
            sqlite3.OperationalError("a readonly database"),
            "the local cloud cannot use its records (a readonly database): do this",
        ),
        (ValueError("no disk's"), "no disk's"),
    ],
)
def test_the_sentence(problem: Exception, sentence: str) -> None:
    assert say(problem, "do this") == sentence


def run(home: str, *commands: str, before: str = "", within: list[str] | None = None) -> list[str]:
    """What the commands print last, whether they succeed or not."""
    python = f"{sys.executable} -m local_cloud"
    lines = "\n".join(f"{command.replace('local_cloud', python)} || true" for command in commands)
    done = subprocess.run(
        [*(within or ["sh", "-ec"]), f"{before}\n{lines}"],
        cwd=CHECKOUT,
        env=os.environ | {"LOCAL_CLOUD_HOME": home},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Traceback" not in done.stdout
    return done.stdout.splitlines()


@pytest.mark.parametrize("command", ["start", "stop", "status", "bill", "env", "reset"])
@pytest.mark.parametrize(
    ("part", "words"),
    [("x" * 300, "has a name of 300 bytes, more than 240"), ("x/" * 300, f"more than {LONGEST}")],
    ids=["name", "path"],
)
def test_a_folder_whose_path_is_too_long(
    tmp_path: Path, command: str, part: str, words: str
) -> None:
    (line,) = run(f"{tmp_path}/{part}", f"local_cloud {command}")
    assert words in line and line.endswith("a folder with a shorter path in LOCAL_CLOUD_HOME")


def test_a_folder_with_the_longest_path_that_is_allowed(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["x" * 100] * 3)
    left = LONGEST - len(os.fsencode(folder)) - 1
    longest = Home(folder / ("x" * left) if left > 0 else folder)
    assert control.start(longest).running
    control.stop(longest)
    with pytest.raises(LocalCloudError, match=f"has {LONGEST + 1} bytes, more than {LONGEST}"):
        Home(longest.folder.with_name(longest.folder.name + "x")).make()


@pytest.fixture(scope="module")
def namespace() -> list[str]:
    """The command that runs a script where it may mount."""
    for command in (AS_ROOT, AS_USER):
        if system.LINUX and shutil.which("unshare"):
            tried = subprocess.run([*command, "mount -t tmpfs tmpfs /mnt"], capture_output=True)
            if tried.returncode == 0:
                return command
    pytest.skip("this machine lets nobody mount anything")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path / "home")
    yield made
    if pid := made.server():
        os.kill(pid, signal.SIGKILL)


def read_only(folder: Path) -> str:
    """The commands after which the folder is read-only, although it is open for writing."""
    return f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}"


def test_a_disk_that_is_read_only_from_the_beginning(tmp_path: Path, namespace: list[str]) -> None:
    commands = [f"local_cloud {each}" for each in ("start", "bill", "console", "status", "stop")]
    lines = run(f"{tmp_path}/home", *commands, before=read_only(tmp_path), within=namespace)
    refused = (
        f"local_cloud: the local cloud cannot use {tmp_path}/home (Read-only file system): mount"
        " that disk for writing"
    )
    stopped = f"The local cloud is not running (its folder: {tmp_path}/home)."
    assert lines == [refused] * 3 + [stopped] * 2


def test_a_disk_that_becomes_read_only_while_the_server_runs(
    tmp_path: Path, own: Home, namespace: list[str]
) -> None:
    """The server is still seen and can be stopped, but not started again."""
    before = f"{sys.executable} -m local_cloud start\n{read_only(tmp_path)}"
    commands = [f"local_cloud {each}" for each in ("status", "stop", "start", "reset")]
    lines = run(str(own.folder), *commands, before=before, within=namespace)
    said = "\n".join(lines)
    assert said.count("The local cloud runs as process") == 2  # of start and of status
    assert f"The local cloud is not running (its folder: {own.folder})." in lines
    *_, start, reset = lines
    for name, line in (("starting", start), ("lock", reset)):
        assert line == (
            f"local_cloud: the local cloud cannot use {own.folder}/{name} (Read-only file system):"
            " mount that disk for writing"
        )


def test_a_job_on_a_disk_that_has_become_read_only(
    tmp_path: Path, own: Home, namespace: list[str]
) -> None:
    """Its error is a sentence, and so is the answer to a request that would write."""
    code = """
import json, urllib.error, urllib.request
from local_cloud.client import control
url = control.status().url
def ask(path, body=None):
    headers = {"Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, content, headers)
    try:
        return json.load(urllib.request.urlopen(request, timeout=60))
    except urllib.error.HTTPError as problem:
        return json.load(problem)
print(ask("/storage/v1/b?project=p", {"name": "new"})["error"]["message"])
container = {"imageUri": "gcr.io/x/y", "command": ["true"]}
pool = {"replicaCount": 1, "containerSpec": container}
pool["machineSpec"] = {"machineType": "n1-standard-4"}
jobs = "/v1/projects/p/locations/us-central1/customJobs"
name = ask(jobs, {"displayName": "j", "jobSpec": {"workerPoolSpecs": [pool]}})["name"]
while "error" not in (job := ask(f"/v1/{name}")): pass
print(job["error"]["message"])
"""
    (tmp_path / "client.py").write_text(code)
    before = f"{sys.executable} -m local_cloud start\n{read_only(own.folder)}"
    client = f"PYTHONPATH={CHECKOUT} {sys.executable} {tmp_path / 'client.py'}"
    *_, bucket, job = run(str(own.folder), client, before=before, within=namespace)
    ending = " (Read-only file system): mount that disk for writing"
    assert bucket == f"the local cloud cannot use {own.data}/buckets/new{ending}"
    assert job.startswith(f"the local cloud cannot use {own.data}/jobs/") and job.endswith(ending)
