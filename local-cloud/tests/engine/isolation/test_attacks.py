"""A job that attacks the machine harms nothing of it, and reads no secret.

The machine that is attacked is the test's own (machine.py): where a defence fails, the test does,
and nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.engine.isolation import roots
from local_cloud.store import trees
from tests.engine.isolation import attacks, machine

ROOT = Path(__file__).parents[4]
# The ten places into which a job of root's once wrote.
PLACES = (
    "/",
    "/dev",
    "/etc",
    "/opt",
    "/root",
    "/srv",
    "/tmp",
    "/usr/local",
    "/var",
    str(ROOT),
)
# What a container's program may do there, and a job here: what it writes disappears with it.
ALLOWED = {f"write {place}" for place in PLACES}

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="only root can make a machine of the test's own"),
    pytest.mark.skipif(not roots.available(), reason="this machine allows no mounts"),
]


def may_run(user: int) -> bool:
    """Whether a user may use this interpreter and read this checkout."""
    words = [sys.executable, "-c", f"open({__file__!r})"]
    return subprocess.run(words, user=user, group=user, check=False, cwd="/").returncode == 0


@pytest.fixture(scope="module", params=[0, 65_534], ids=["root", "nobody"])
def report(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What jobs could do that root sends, and an ordinary user."""
    if not may_run(request.param):
        pytest.skip("no interpreter for another user")
    folder = Path(tempfile.mkdtemp(prefix="attacked-", dir="/var/tmp"))
    folder.chmod(0o777)
    words = (sys.executable, "-m", attacks.__name__, str(folder / "cloud"), *PLACES)
    done = machine.run(request.param, folder, *words)
    trees.remove(folder)
    trees.remove(Path(f"{folder}.machine"))
    assert done.returncode == 0, done.stderr
    yield json.loads(done.stdout.splitlines()[-1])


def test_nothing_of_the_machine_has_changed(report: dict[str, Any]) -> None:
    """Neither by a job that starts, nor by one that is forked, nor by the setup.py of a package."""
    assert "attacked" in report["could"]["setup"]
    assert report["changed"] == []
    assert not Path("/etc/hostile").exists()  # not even of the machine that the test is on


@pytest.mark.parametrize("how", ["cold", "warm"])
def test_a_job_writes_where_a_container_may(report: dict[str, Any], how: str) -> None:
    assert report["level"] == "own root" and report["warm"]
    could = {name for name, why in report["could"][how].items() if not why}
    assert could >= ALLOWED - {f"write {ROOT}"}  # where an ordinary user has not made the folder


@pytest.mark.parametrize("how", ["cold", "warm"])
def test_it_can_do_nothing_else(report: dict[str, Any], how: str) -> None:
    """Read a secret, end a process, mount, make a device, set what the kernel does."""
    could = {name for name, why in report["could"][how].items() if not why}
    assert could <= ALLOWED, report["could"][how]
    assert len(report["could"][how]) > 25  # all was tried
