"""Servers of other environments and checkouts, and servers that start or end at the same moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from local_cloud import LocalCloudError
from local_cloud.client import control
from local_cloud.client.home import CHECKOUT, Home, identity
from tests.client.test_control import own as own

# Holds the lock as a server does, and no port.
DYING = """
import os, sys, time
from pathlib import Path
from local_cloud.client.home import Home
home = Home(Path(sys.argv[1]))
lock = home.lock(100)
lock.write(str(os.getpid()))
lock.flush()
home.write_address(home.address() | {"pid": os.getpid()})
print("holds the lock", flush=True)
sys.stdin.readline()
time.sleep(0.2)
"""


def test_a_killed_server_that_has_closed_its_port_and_not_ended_yet_is_started_again(
    own: Home,
) -> None:
    first = control.start(own)
    os.kill(first.facts["pid"], signal.SIGKILL)
    while own.running():
        time.sleep(0.02)
    words = [sys.executable, "-c", DYING, str(own.folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=CHECKOUT, stdin=pipe, stdout=pipe, text=True) as dying:
        assert dying.stdin and dying.stdout and dying.stdout.readline() == "holds the lock\n"
        assert control.status(own).silent == dying.pid
        dying.stdin.write("\n")
        dying.stdin.flush()
        assert control.start_again(own).url == first.url


def test_a_server_that_came_second_does_not_outlive_the_first(
    own: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def late(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """As on a busy machine: another has started a server, and ours is still being loaded."""
        begun.append(popen(["sleep", "600"], **options))
        begun.append(popen(command, **options))
        return begun[0]

    monkeypatch.setattr(subprocess, "Popen", late)
    assert control.start(own).facts["pid"] == begun[1].pid
    assert begun[0].wait(timeout=30) == -signal.SIGTERM
    control.stop(own)
    begun[1].wait()


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """This interpreter is taken for one of an environment that has an SDK and no more."""
    monkeypatch.setattr(control, "identity", lambda: identity() | {"environment": "/bare"})
    monkeypatch.setattr(control, "missing_packages", lambda: ["starlette", "uvicorn"])


def test_an_interpreter_that_cannot_run_a_server_uses_one_of_its_checkout(
    own: Home, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """Wherever that one is: here it keeps a folder of its own, as if another ran in the first."""
    beside = own.own_for(identity())
    request.addfinalizer(lambda: control.stop(beside))
    started = control.start(beside)
    request.getfixturevalue("bare")
    for home in (own, beside):
        assert control.start(control.own(home)).url == started.url
    assert f"Using the local cloud that {sys.executable} has started" in capsys.readouterr().err


def test_it_never_uses_one_of_another_checkout(
    own: Home, monkeypatch: pytest.MonkeyPatch, bare: None
) -> None:
    with monkeypatch.context() as able:
        able.setattr(control, "missing_packages", list)
        control.start(own)
    here = identity() | {"environment": "/bare", "checkout": "/elsewhere"}
    monkeypatch.setattr(control, "identity", lambda: here)
    assert control.own(own).folder != own.folder
    with pytest.raises(LocalCloudError, match="lacks starlette and 1 more"):
        control.start(control.own(own))


def test_it_says_how_to_start_one_and_stops_none_that_it_could_not_start_again(
    own: Home, monkeypatch: pytest.MonkeyPatch, bare: None
) -> None:
    with pytest.raises(LocalCloudError, match=r"\.venv/bin/python -m local_cloud start"):
        control.start(own)
    with monkeypatch.context() as able:
        able.setattr(control, "missing_packages", list)
        control.start(own)
    with pytest.raises(LocalCloudError, match="cannot start one"):
        control.reset(own)
    assert control.status(own).running


def test_a_server_of_another_checkout_is_not_used(
    own: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    control.start(own)
    monkeypatch.setattr(control, "identity", lambda: identity() | {"checkout": "/elsewhere"})
    other = control.own(own)
    assert other.folder != own.folder
    said = capsys.readouterr()
    assert str(own.folder) in said.err
    assert said.out == ""  # which a shell reads from `env`
    assert not control.status(other).running


def test_reset_leaves_the_data_of_another_checkout_that_runs(
    own: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clones share the user's state folder, and only one of them has begun again."""
    control.start(own)
    (own.data / "buckets" / "something").mkdir(parents=True)
    monkeypatch.setenv("LOCAL_CLOUD_HOME", str(own.folder))
    monkeypatch.setattr(control, "identity", lambda: identity() | {"checkout": "/elsewhere"})
    assert control.reset().home.folder != own.folder
    assert (own.data / "buckets" / "something").exists()
