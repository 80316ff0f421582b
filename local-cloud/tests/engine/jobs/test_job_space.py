"""Jobs that fill the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_cloud.engine.jobs import job_space
from local_cloud.engine.spec import Plan, Replica, State
from local_cloud.store.errors import NoSpace
from local_cloud.store.space import Space
from tests.engine.support import Cloud, engine, plan, python, run, until

FILLS = python(
    "import time\n"
    "with open('large', 'wb', buffering=0) as file:\n"
    "    file.write(b'x' * 9_000_000)\n"
    "time.sleep(60)"
)


def test_a_job_that_writes_too_much_is_stopped_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_space, "PERIOD", 0.1)

    async def story() -> None:
        space = Space(tmp_path, 8_000_000)
        async with engine(tmp_path / "engine", Cloud(a=plan(FILLS)), space=space) as here:
            here.submit("cloud", "a", 1)
            job = await until(here, "a")
            assert job.state is State.FAILED and job.outcome and job.outcome.reason == "space"
            assert job.outcome.message.startswith("The job had written 0.00")
            assert "more than LOCAL_CLOUD_MAX_GB allows (0.008 GB)" in job.outcome.message

    run(story())


def test_a_full_local_cloud_starts_no_job_and_the_queue_goes_on(tmp_path: Path) -> None:
    full = True

    class Room(Space):
        def take(self, more: int = 0) -> None:
            if full:
                raise NoSpace("there is no room")

    async def story() -> None:
        nonlocal full
        plans = {name: Plan((Replica("r", ("true",), {}),)) for name in ("a", "b")}
        async with engine(tmp_path, Cloud(**plans), space=Room(tmp_path, 1)) as here:
            here.submit("cloud", "a", 1)
            job = await until(here, "a")
            assert job.state is State.FAILED and job.outcome
            assert job.outcome.message == "there is no room"
            full = False
            here.submit("cloud", "b", 1)
            assert (await until(here, "b")).state is State.SUCCEEDED

    run(story())
