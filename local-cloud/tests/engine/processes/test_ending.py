"""How the processes of a job end: each does, and has time to save."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from local_cloud.engine.spec import State
from tests.engine.support import (
    LEAVES,
    STUBBORN,
    Cloud,
    alive,
    engine,
    gone,
    outside,
    plan,
    python,
    run,
    until,
    until_there,
    written,
)


def test_a_replica_deaf_to_sigterm_is_killed_after_the_grace(tmp_path: Path) -> None:
    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan(STUBBORN, grace=0.5))) as here:
            here.submit("cloud", "a", 1)
            await written(here.log("a", "r0"))
            began = time.monotonic()
            here.stop("a")
            assert (await until(here, "a")).state is State.STOPPED
            assert 0.5 <= time.monotonic() - began < 5

    run(story())


def test_when_the_server_ends_it_does_not_wait_so_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_cloud.engine.jobs.attempt_runner.LOST_GRACE", 0.2)

    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan(STUBBORN, grace=600))) as here:
            here.submit("cloud", "a", 1)
            await written(here.log("a", "r0"))

    run(story())  # it gives up long before the grace is over


def test_sigterm_leaves_time_to_save(tmp_path: Path) -> None:
    saves = python(
        "import signal, sys, time\n"
        "def save(*_): time.sleep(0.3); print('saved'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save); print('ready'); time.sleep(60)"
    )

    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan(saves))) as here:
            here.submit("cloud", "a", 1)
            await written(here.log("a", "r0"))
            here.stop("a")
            assert (await until(here, "a")).state is State.STOPPED
            assert here.log("a", "r0").read_text() == "ready\nsaved\n"

    run(story())


def test_a_replica_under_sigstop(tmp_path: Path) -> None:
    shows = python("import os, time; print(os.getpid()); time.sleep(60)")

    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan(shows))) as here:
            here.submit("cloud", "a", 1)
            pid = outside(log := here.log("a", "r0"), int((await written(log))[0]))
            os.kill(pid, signal.SIGSTOP)
            began = time.monotonic()
            here.stop("a")
            assert (await until(here, "a")).state is State.STOPPED
            assert time.monotonic() - began < 5  # well before the grace of 10 s

    run(story())


def test_nothing_survives_not_even_what_left_the_group(tmp_path: Path) -> None:
    leaves, go = LEAVES[2].rpartition(";")[0], tmp_path / "go"
    leaves_and_ends = python(f"{leaves}\n{until_there(go)}")
    cloud = Cloud(stopped=plan(LEAVES), ended=plan(leaves_and_ends))

    async def story() -> None:
        async with engine(tmp_path, cloud) as here:
            for name in ("stopped", "ended"):
                here.submit("cloud", name, 1)
                log = here.log(name, "r0")
                pid = outside(log, int((await written(log))[0]))
                assert alive(pid)
                if name == "stopped":
                    here.stop(name)
                else:
                    go.touch()
                await until(here, name)
                assert gone(pid, within=5)  # it was killed, and the kernel has yet to end it

    run(story())
