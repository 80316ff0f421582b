"""Replicas that are forked from a process with torch imported are as any other replica."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.engine import system
from local_cloud.engine.isolation import roots
from local_cloud.engine.processes import control_groups, reaper
from local_cloud.engine.spec import Plan, Replica, State
from local_cloud.engine.warm import fork_server
from tests import hidden
from tests.engine.forks import TELLS, ended, only, plan, said
from tests.engine.forks import lighter as lighter
from tests.engine.support import Cloud, alive, engine, outside, run, until, until_there, written

pytestmark = pytest.mark.skipif(not system.LINUX, reason="forks on Linux only")


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "code").mkdir()
    path = tmp_path / "code/script.py"
    path.write_text(TELLS)
    yield path


@pytest.mark.parametrize("module", [False, True])
def test_a_forked_replica_finds_what_a_started_one_does(
    tmp_path: Path, script: Path, module: bool
) -> None:
    command = ("-m", "script", "--x", "1 2") if module else (str(script), "--x", "1 2")
    here = str(tmp_path)
    about = {"PYTHONPATH": str(script.parent), "HERE": here}
    about["FIRST"] = here if module else str(script.parent)
    plans = {
        name: plan(*command, hot=name == "forked", folder=tmp_path, **about)
        for name in ("forked", "started")
    }

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            job, forked = await ended(running, "forked")
            other, started = await ended(running, "started")
        forked = forked.replace("/jobs/forked/", "/jobs/started/")
        assert forked.replace("warm\n", "cold\n") == started
        assert forked.count("warm\n") == started.count("cold\n") == 1
        assert job.outcome and other.outcome and job.outcome.code == other.outcome.code == 7

    run(story())


def test_a_replica_holds_nothing_open_of_those_that_were_forked_before(
    tmp_path: Path, script: Path
) -> None:
    script.write_text('import os; print(sorted(os.listdir("/proc/self/fd")))\n')
    (first,) = plan(str(script)).replicas
    both = Plan((first, dataclasses.replace(first, name="second")))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(both=both)) as running:
            running.submit("cloud", "both", 2)
            await until(running, "both")
            assert only(running)  # they were forked
            first, second = (said(running.log("both", name)) for name in ("r", "second"))
            assert first == second

    run(story())


def test_a_forked_replica_does_not_find_the_local_cloud(tmp_path: Path, script: Path) -> None:
    script.write_text(hidden.SCRIPT)

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(forked=plan(str(script)))) as running:
            job, told = await ended(running, "forked")
            assert only(running)  # it was forked
            assert job.state is State.SUCCEEDED, told

    run(story())


@pytest.mark.skipif(not control_groups.own_group(), reason="this user may make no groups here")
def test_a_forked_replica_joins_its_control_group_before_it_begins(
    tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "add", lambda pid, group: None)
    script.write_text('print(open("/proc/self/cgroup").read())\n')

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(forked=plan(str(script)))) as running:
            _, groups = await ended(running, "forked")
            assert only(running)  # it was forked
        assert f"/{reaper.PREFIX}" in groups

    run(story())


def test_there_is_a_process_for_each_number_of_threads_while_there_is_memory() -> None:
    async def story() -> None:
        server = fork_server.ForkServer()
        try:
            for threads in "1213":
                await server.ready({"OMP_NUM_THREADS": threads})
            assert [*server.processes] == [f'{{"OMP_NUM_THREADS": "{n}"}}' for n in "13"]
            server.free = 1e18
            await server.ready({"OMP_NUM_THREADS": "4"})
            assert len(server.processes) == 2
        finally:
            server.close()

    run(story())


def test_others_see_a_forked_replicas_own_command_and_variables(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, psutil, sys\nthis = psutil.Process()\n"
        "print(this.cmdline() == sys.orig_argv, this.environ() == dict(os.environ))\n"
    )

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script), LARGE="x" * 9000))) as e:
            assert (await ended(e, "job"))[1] == "True True\n"

    run(story())


def test_a_job_with_a_module_named_like_an_imported_one_is_started(tmp_path: Path) -> None:
    (tmp_path / "numbers.py").write_text("mine = 1\n")
    script = tmp_path / "script.py"
    script.write_text("import numbers, sys\nprint(numbers.mine, 'numpy' in sys.modules)\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            running.submit("cloud", "job", 1)
            await until(running, "job")
            assert running.log("job", "r").read_text() == "1 False\n"

    run(story())


def test_it_is_stopped_like_any_other_and_leaves_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, time\nprint(os.getpid())\ntime.sleep(60)\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            running.submit("cloud", "job", 1)
            await until(running, "job", State.RUNNING)
            _, said = await written(log := running.log("job", "r"), 2)
            pid = outside(log, int(said))
            running.stop("job")
            job = await until(running, "job")
            assert job.state is State.STOPPED and not alive(pid)
            forker = only(running)
            assert alive(forker.pid)
        assert not alive(forker.pid)

    run(story())


def test_what_a_forked_replica_sets_apart_from_itself_ends_with_its_job(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\nread, write = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
        "    os.write(write, str(os.getpid()).encode())\n    time.sleep(60)\n"
        f"print(os.read(read, 20).decode())\n{until_there(go := tmp_path / 'go')}"
    )

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            running.submit("cloud", "job", 1)
            _, said = await written(log := running.log("job", "r"), 2)
            pid = outside(log, int(said))
            go.touch()
            job = await until(running, "job")
            assert job.state is State.SUCCEEDED and not alive(pid)

    run(story())


def test_the_forking_processes_own_future_imports_are_not_the_scripts(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def f(x: int): ...\nprint(f.__annotations__['x'] is int)\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            assert (await ended(running, "job"))[1] == "True\n"

    run(story())


@pytest.mark.skipif(not roots.available(), reason="this machine allows no mounts")
def test_it_sees_its_mounts_and_draws_its_own_random_numbers(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket/script.py").write_text("import numpy\nprint(numpy.random.rand())\n")
    command = (sys.executable, "/gcs-of-a-test/bucket/script.py")
    places = {"/gcs-of-a-test": tmp_path}
    made = Plan(tuple(Replica(f"r{n}", command, {}, mounts=places) for n in range(2)))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=made)) as running:
            running.submit("cloud", "job", 2)
            job = await until(running, "job")
            logs = [said(running.log("job", f"r{n}")) for n in range(2)]
            assert job.state is State.SUCCEEDED, logs
            assert logs[0] != logs[1] and all(0 <= float(log) < 1 for log in logs)
        assert not os.path.exists("/gcs-of-a-test")

    run(story())


def test_what_forks_outlives_a_queue_that_was_handed_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('here')\n")
    kept = fork_server.ForkServer()

    async def story() -> None:
        pids = set[int]()
        for _ in range(2):  # as when all is emptied: the second finds what the first has left
            here = tmp_path / "engine"
            async with engine(here, Cloud(a=plan(str(script))), fork_server=kept) as running:
                assert (await ended(running, "a"))[1] == "here\n"
                pids.add(only(running).pid)
                running.delete("a")
        assert len(pids) == 1 and alive(*pids)
        kept.close()
        assert not alive(*pids)

    run(story())
