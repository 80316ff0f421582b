"""A replica as a process: its environment, folder, log and ports."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from local_cloud.engine.processes.replica import last_lines
from local_cloud.engine.spec import (
    JobContext,
    Plan,
    Replica,
    State,
)
from tests.engine.support import (
    Cloud,
    ended,
    engine,
    plan,
    python,
    run,
    until,
    written,
)


def test_the_last_lines_are_the_programs_if_it_wrote_any(tmp_path: Path) -> None:
    log = tmp_path / "r0.log"
    ours = "local cloud: me/own:1 is named, not pulled; this is Python 3.11.7"
    assert last_lines(log) == ()
    log.write_text(f"{ours}\n")
    assert last_lines(log) == (ours,)
    log.write_text(f"{ours}\nNo such file: train.npz\n\nlocal cloud: why\n")
    assert last_lines(log) == ("No such file: train.npz", "local cloud: why")


class TestReplica:
    def test_the_environment_is_clean(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SERVERS_OWN", "secret")
        monkeypatch.setenv("PYTHONPATH", "/servers/own")
        monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")  # this one is for jobs too
        tell = python("import os, json; print(json.dumps([os.getcwd(), dict(os.environ)]))")

        def staged(context: JobContext) -> Plan:
            return Plan((Replica("r0", tell, {"FROM_PLAN": "x", "LANG": "C"}),))

        async def story() -> None:
            async with engine(tmp_path, Cloud(a=staged)) as here:
                await ended(here, "a")
                folder, seen = json.loads(here.log("a", "r0").read_text())
                own = tmp_path / "jobs/a/r0"
                assert folder == str(own)
                assert not {"SERVERS_OWN", "PYTHONPATH", "PYTEST_CURRENT_TEST"} & set(seen)
                assert seen["ATEN_CPU_CAPABILITY"] == "default"
                assert seen["FROM_PLAN"] == "x"
                assert seen["LANG"] == "C"
                assert seen["HOME"].startswith(str(own))
                assert seen["VIRTUAL_ENV"] == str(tmp_path / "jobs/a/.python")
                assert seen["PYTHONUNBUFFERED"] == "1"
                assert seen["CUDA_VISIBLE_DEVICES"] == ""
                assert seen["LOCAL_CLOUD_JOB"] == "a"
                assert str(Path(sys.executable).parent) in seen["PATH"].split(":")

        run(story())

    def test_its_temporary_folder_is_short_enough_for_sockets_and_cleared(
        self, tmp_path: Path
    ) -> None:
        deep = tmp_path / ("x" * 100)
        listens = python(
            "import os; from multiprocessing.connection import Listener;"
            "Listener(family='AF_UNIX').close(); print(os.environ['TMPDIR']);"
            "open(os.environ['TMPDIR'] + '/mine', 'w').close()"
        )

        async def story() -> None:
            async with engine(deep, Cloud(a=plan(listens))) as here:
                assert (await ended(here, "a")).state is State.SUCCEEDED
                said = Path(here.log("a", "r0").read_text().strip())
                assert not (said / "mine").exists() and not list(
                    here.log("a", "r0").parent.rglob("mine")
                )

        run(story())

    def test_its_log_can_be_read_while_it_runs(self, tmp_path: Path) -> None:
        talks = python(
            "import sys, time; print('out'); print('err', file=sys.stderr); time.sleep(60)"
        )

        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(talks))) as here:
                here.submit("cloud", "a", 1)
                assert await written(here.log("a", "r0"), 2) == ["out", "err"]
                assert here.get("a").state is State.RUNNING

        run(story())

    def test_paths_with_blanks(self, tmp_path: Path) -> None:
        folder = tmp_path / "a folder with blanks"
        pip = ("sh", "-c", "pip install -q pip && pwd")

        async def story() -> None:
            async with engine(folder, Cloud(a=plan(pip))) as here:
                assert (await ended(here, "a")).state is State.SUCCEEDED
                assert here.log("a", "r0").read_text() == f"{folder}/jobs/a/r0\n"

        run(story())

    def test_ports_are_the_jobs_own_until_it_ends(self, tmp_path: Path) -> None:
        given: list[int] = []

        def staged(context: JobContext) -> Plan:
            given.extend(context.port() for _ in range(3))
            return plan(python(""))

        async def story() -> None:
            async with engine(tmp_path, Cloud(a=staged, b=staged)) as here:
                here.submit("cloud", "a", 1)
                here.submit("cloud", "b", 1)
                await asyncio.gather(until(here, "a"), until(here, "b"))

        run(story())
        assert len(set(given)) == 6


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a policy")
def test_replicas_of_one_job_do_not_interrupt_each_other(tmp_path: Path) -> None:
    waits = python(
        "import os, time\nwhile os.sched_getscheduler(0) != os.SCHED_BATCH: time.sleep(0.01)\n"
        "print('batch')"
    )
    alone = python("import os; print(os.sched_getscheduler(0) == os.SCHED_OTHER)")
    cloud = Cloud(a=plan(waits, waits), b=plan(alone))

    async def story() -> None:
        async with engine(tmp_path, cloud) as here:
            here.submit("cloud", "a", 2)
            here.submit("cloud", "b", 1)
            assert (await until(here, "a")).state is State.SUCCEEDED
            await until(here, "b")
            assert here.log("b", "r0").read_text() == "True\n"

    run(story())
