"""Processes that try to outlive their job."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local_cloud.engine import system
from local_cloud.engine.processes import control_groups, reaper
from local_cloud.engine.spec import Plan, Replica, State
from tests.engine.support import (
    Cloud,
    alive,
    engine,
    outside,
    run,
    until,
    until_there,
    written,
)
from tests.escapes import ESCAPES

groups = pytest.mark.skipif(
    not control_groups.own_group(), reason="this user may make no control groups here"
)


@groups
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="pivot_root has another number")
@pytest.mark.parametrize("pause", [0.0, 0.5])
def test_a_process_that_leaves_its_session_environment_and_root_ends_with_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    """Also if the server of a busy machine comes to nothing else for a while."""
    add = control_groups.add

    def add_later(pid: int, group: Path | None) -> None:
        time.sleep(pause)
        add(pid, group)

    monkeypatch.setattr(control_groups, "add", add_later)
    (data := tmp_path / "objects").mkdir()
    go = tmp_path / "go"
    command = (sys.executable, "-c", ESCAPES.replace("SECONDS", "60") + until_there(go))
    plan = Plan((Replica("r0", command, {}, mounts={"/gcs": data}),))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(a=plan)) as here:
            here.submit("cloud", "a", 1)
            (said,) = await written(log := here.log("a", "r0"))
            inner, left = map(int, said.split())
            assert left == 0, "it has not left its root"
            pid = outside(log, inner)
            go.touch()
            assert (await until(here, "a")).state is State.SUCCEEDED
            assert not alive(pid)

    run(story())


@pytest.mark.skipif(not system.LINUX, reason="only Linux has control groups")
def test_a_user_who_can_put_a_process_into_a_new_group_has_them() -> None:
    """Else what needs groups would be skipped, and nobody would notice."""
    mount = subprocess.run(["findmnt", "-nt", "cgroup2", "-o", "TARGET"], stdout=subprocess.PIPE)
    mounted, own = mount.stdout.decode().strip(), Path("/proc/self/cgroup").read_text()
    if not mounted or "0::" not in own:
        pytest.skip("there are no control groups of version 2")
    base = Path(mounted, own.partition("0::")[2].splitlines()[0].strip("/"))
    probe = base / f"probe-{os.getpid()}"
    try:
        probe.mkdir()
    except OSError:
        pytest.skip("this user may make no control groups here")
    try:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
            (probe / "cgroup.procs").write_text(str(process.pid))
    except OSError:
        pytest.skip("this user may put no process into a control group here")
    finally:
        probe.rmdir()
    assert control_groups.own_group() == base


@groups
def test_a_group_goes_with_its_processes(tmp_path: Path) -> None:
    base, marks = control_groups.own_group(), {"LOCAL_CLOUD_JOB": str(tmp_path)}
    assert base
    group = base / reaper.group_name(reaper.entries(marks))
    process = subprocess.Popen(["sleep", "60"], env={}, start_new_session=True)
    assert control_groups.make(marks) == group
    control_groups.add(process.pid, group)
    assert group.exists()
    assert reaper.find_living((), reaper.entries(marks)) == {process.pid}
    assert reaper.find_living((), ["LOCAL_CLOUD_JOB=another"]) == set()
    assert reaper.end((), reaper.entries(marks), grace=5)
    process.wait()
    control_groups.remove(marks)
    assert not group.exists()


def test_where_there_are_none_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "LINUX", False)
    control_groups.own_group.cache_clear()
    try:
        assert control_groups.make({"A": "b"}) is None
        control_groups.add(os.getpid(), None)
        control_groups.remove({"A": "b"})
        assert control_groups.own_group() is None
    finally:
        control_groups.own_group.cache_clear()


MANY = """
import os, sys, time
for _ in range({}):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
    os.wait()
"""


@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_a_job_has_ended_when_the_last_of_its_processes_has_gone(
    tmp_path: Path, count: int
) -> None:
    plan = Plan((Replica("r0", (sys.executable, "-c", MANY.format(count)), {}),))

    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan)) as here:
            here.submit("cloud", "a", 1)
            assert (await until(here, "a")).state is State.SUCCEEDED
            # It may hide its environment while it ends, but not its folder.
            assert not [
                pid
                for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if _works_in(pid, tmp_path)
            ]

    run(story())


def _works_in(pid: int, folder: Path) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/cwd").startswith(str(folder))
    except OSError:
        return False
