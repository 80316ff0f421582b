"""The process that forks replicas hangs, is killed, or is no longer needed."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest

from local_cloud.engine import system
from local_cloud.engine.spec import State
from local_cloud.engine.warm import fork_server
from tests.engine.forks import ended, only, plan, said
from tests.engine.forks import lighter as lighter
from tests.engine.support import Cloud, engine, run, until

pytestmark = pytest.mark.skipif(not system.LINUX, reason="forks on Linux only")


def test_when_the_forking_process_hangs_the_replica_starts_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "FORKS", 0.2)
    script = tmp_path / "script.py"
    script.write_text("print('here')\n")

    async def story() -> None:
        async with engine(
            tmp_path / "engine", Cloud(a=plan(str(script)), b=plan(str(script)))
        ) as e:
            await ended(e, "a")
            os.kill(only(e).pid, signal.SIGSTOP)
            assert (await ended(e, "b"))[1] == "here\n"

    run(story())


def test_when_the_forking_process_is_killed_the_next_replica_starts_all_the_same(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('here')\n")
    plans = {name: plan(str(script)) for name in ("first", "second", "third")}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            assert (await ended(running, "first"))[1] == "here\n"
            process = only(running)._process
            process.kill()
            process.wait()
            for name in ("second", "third"):
                assert (await ended(running, name))[1] == "here\n"

    run(story())


def test_it_ends_when_nobody_has_asked_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "IDLE", 0.1)
    script = tmp_path / "script.py"
    script.write_text("import time\ntime.sleep(0.5)\nprint('here')\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            running.submit("cloud", "job", 1)
            await until(running, "job", State.RUNNING)
            (process,) = running._fork_server._all
            job = await until(running, "job")
            assert job.state is State.SUCCEEDED  # its end is waited for
            assert said(running.log("job", "r")) == "here\n"
            while psutil.pid_exists(process.pid):  # nor does it stay as a zombie
                await asyncio.sleep(0.05)

    run(story())
