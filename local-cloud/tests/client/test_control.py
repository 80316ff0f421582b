"""The server process: started once, found again, stopped and reset."""

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

from local_cloud import LocalCloudError
from local_cloud.client import control
from local_cloud.client.home import CHECKOUT, SERVER_NEEDS, Home
from local_cloud.extras import LIBRARIES
from testing.imports import modules
from tests.client.command_line import command_line


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    """A home of the test's own; whatever runs in it ends with the test."""
    home = Home(tmp_path / "a home")
    yield home
    control.stop(home)


def test_stopped_or_killed_it_starts_again_at_the_same_address(own: Home) -> None:
    first = control.start(own)
    assert control.status(own).url == first.url
    assert control.start(own).facts["pid"] == first.facts["pid"]  # it runs already
    log = own.data / "records.sqlite-wal"
    assert log.exists()
    assert "is not running" in str(control.stop(own))
    # It had time to end: it closes its records, which a process that is killed cannot.
    assert not log.exists()
    assert not control.status(own).running
    again = control.start(own)
    assert again.url == first.url  # open notebooks go on
    os.kill(again.facts["pid"], signal.SIGKILL)
    while own.running():
        time.sleep(0.02)
    (own.data / "buckets" / "something").mkdir(parents=True)
    assert not control.reset(own).running  # what did not run is not started
    assert not (own.data / "buckets" / "something").exists()
    assert control.start(own).url == first.url
    (own.data / "buckets" / "something").mkdir(parents=True)
    assert control.reset(own).url == first.url
    assert not (own.data / "buckets" / "something").exists()


def test_two_starts_at_once_make_one_server(own: Home) -> None:
    pids: list[int] = []
    threads = [
        threading.Thread(target=lambda: pids.append(control.start(own).facts["pid"]))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 3
    assert len(set(pids)) == 1


def test_the_list_of_what_a_server_needs_is_what_it_imports() -> None:
    """Read from the code of all that runs in the server."""
    elsewhere = {"prebuilt_server.py", "pytest_plugin.py"}  # run in a replica, and in pytest
    elsewhere |= {"picture_model.py"}  # torch: of a job that trains on pictures
    package = CHECKOUT / "local_cloud"
    inside = package / "engine/isolation/inside"  # run in a job, and import each other by name
    files = [
        path
        for path in package.rglob("*.py")
        if path.name not in elsewhere and not {package / "client", inside} & {*path.parents}
    ]
    imported = {name for path in files for name in modules(path)}
    foreign = {
        name
        for name in imported
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "local_cloud", "__future__"}
    }
    needed = {"google.protobuf", *SERVER_NEEDS}  # which google.cloud.aiplatform_v1 brings
    needed |= {name for names in LIBRARIES.values() for name in names}  # where they are installed
    assert not {name for name in foreign if not name.startswith(tuple(needed))}
    assert not {name for name in needed if not any(each.startswith(name) for each in foreign)}


def test_a_server_that_cannot_start_says_why_in_one_sentence(own: Home) -> None:
    own.make()
    own.data.write_text("in the way")
    own.log.write_bytes("→".encode() * 400 + b"\xff\n")  # of an earlier server: bytes, not letters
    with pytest.raises(LocalCloudError, match=r"did not start \(\w+Error.*data.*\); its log is"):
        control.start(own)


def test_the_command_line(own: Home) -> None:
    assert "is not running" in command_line(own, "status").stdout
    refused = command_line(own, "env")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "local_cloud start" in refused.stderr
    assert "The local cloud runs" in command_line(own, "start").stdout
    lines = command_line(own, "env").stdout
    url = control.status(own).url
    shell = subprocess.run(
        ["sh", "-c", f"{lines}\necho $STORAGE_EMULATOR_HOST $LOCAL_CLOUD_VERTEX_URL"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shell.stdout.split() == [url, url]
    assert "it works once" in command_line(own, "console").stdout
    assert command_line(own, "dance").returncode == 2
    assert "is not running" in command_line(own, "stop").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder another user's")
def test_a_folder_of_another_user_is_not_taken(tmp_path: Path) -> None:
    os.chown(tmp_path, 65_534, 65_534)
    with pytest.raises(LocalCloudError, match=r"another user.*LOCAL_CLOUD_HOME"):
        control.start(Home(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    mode = tmp_path.stat().st_mode
    assert not control.status(Home(tmp_path)).running
    for verb in (control.start, control.stop, control.reset):
        with pytest.raises(LocalCloudError, match=r"holds other things.*LOCAL_CLOUD_HOME"):
            verb(Home(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert tmp_path.stat().st_mode == mode


def test_a_folder_that_would_split_a_path_in_two_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalCloudError, match="colon"):
        control.start(Home(tmp_path / "a:b"))
