"""A server whose process is suspended: it is named, and never started a second time."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud import LocalCloudError
from local_cloud.client import control
from local_cloud.client.home import Home
from local_cloud.client.process_state import is_suspended
from tests.client.test_control import command_line


def suspend(pid: int) -> None:
    """Suspend a process, and wait until it is."""
    os.kill(pid, signal.SIGSTOP)
    while not is_suspended(pid):
        pass


@pytest.fixture
def suspended(tmp_path: Path) -> Iterator[Home]:
    """The home of a server that was suspended."""
    home = Home(tmp_path / "home")
    suspend(control.start(home).facts["pid"])
    yield home
    control.stop(home)


def test_it_is_named_and_neither_started_again_nor_lost(suspended: Home) -> None:
    pid = suspended.address()["pid"]
    said = f"runs as process {pid}, but does not answer: that process is suspended"
    assert said in str(control.status(suspended))
    assert said in command_line(suspended, "env").stderr
    with pytest.raises(LocalCloudError, match=f"kill -CONT {pid}"):
        control.start(suspended)
    os.kill(pid, signal.SIGCONT)
    assert control.start(suspended).facts["pid"] == pid


def test_it_ends_in_order_when_it_is_told_to(suspended: Home) -> None:
    assert "is not running" in str(control.stop(suspended))
    # It had time to close its records, which a process that is killed cannot.
    assert not (suspended.data / "records.sqlite-wal").exists()
