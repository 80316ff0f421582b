"""A job that is run again ends: cancelled between two attempts, at its limits, with its server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local_cloud.engine.jobs import attempt_runner
from local_cloud.engine.spec import ANY_NUMBER, JobContext, JobRefused, State
from tests.engine.jobs.test_attempts import LEAVES_A_FILE, NOTE, interrupted
from tests.engine.support import SLEEP, STUBBORN, Cloud, engine, gone, plan, run, until, written

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_runner, "PAUSE", 0.05)


class TestEnd:
    def test_cancel_between_two_attempts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attempt_runner, "PAUSE", 30)
        cloud = Cloud(a=plan(LEAVES_A_FILE, interruptions=1))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 1)
                await written(here.log("a", "r0"), 2)
                here.interrupt("a", NOTE)
                job = await until(here, "a", State.STAGING)
                assert job.attempts[0].ended
                here.stop("a")
                assert here.get("a").state is State.STOPPING
                job = await until(here, "a")
                assert (job.state, len(job.attempts)) == (State.STOPPED, 1)
                assert [done.state for done in cloud.collected] == [State.STOPPED]

        run(story())

    def test_cancel_while_the_replicas_are_being_ended(self, tmp_path: Path) -> None:
        cloud = Cloud(a=plan(STUBBORN, interruptions=1, grace=0.3))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 1)
                await written(here.log("a", "r0"))
                here.interrupt("a", NOTE)
                here.stop("a")
                job = await until(here, "a")
                assert (job.state, len(job.attempts)) == (State.STOPPED, 1)

        run(story())

    def test_an_input_that_is_gone_when_the_job_is_run_again(self, tmp_path: Path) -> None:
        plans = [plan(SLEEP, interruptions=1)]

        def staged(_: JobContext) -> Any:
            if plans:
                return plans.pop()
            raise JobRefused("the input is gone")

        async def story() -> None:
            cloud = Cloud(a=staged)
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 1)
                await until(here, "a", State.RUNNING)
                here.interrupt("a", NOTE)
                await until(here, "a", State.STAGING)
                job = await until(here, "a")
                assert job.outcome and job.outcome.message == "the input is gone"
                assert len(cloud.collected) == 1  # the first attempt ran

        run(story())

    @pytest.mark.parametrize("limit", ["timeout", "deadline"])
    def test_a_limit_counts_all_attempts(self, tmp_path: Path, limit: str) -> None:
        allowed, each_ran = 3.0, 0.75
        cloud = Cloud(a=plan(SLEEP, interruptions=ANY_NUMBER, **{limit: allowed}))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 1)
                job = await until(here, "a", State.RUNNING)
                for attempt in (1, 2):
                    await asyncio.sleep(each_ran)
                    await interrupted(here, "a", attempt)
                job = await until(here, "a")
                assert job.outcome
                assert (job.outcome.reason, len(job.attempts)) == (limit, 3)
                ran = sum((each.ended or 0) - (each.started or 0) for each in job.attempts)
                passed = (job.ended or 0) - job.attempts[0].staged
                used = ran if limit == "timeout" else passed
                # Not what the last attempt alone would have been allowed.
                assert allowed <= used < allowed + 2 * each_ran

        run(story())

    def test_a_limit_that_is_over_before_the_next_attempt(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attempt_runner, "PAUSE", 2.5)

        async def story() -> None:
            async with engine(
                tmp_path, Cloud(a=plan(SLEEP, interruptions=9, deadline=2.0))
            ) as here:
                here.submit("cloud", "a", 1)
                await until(here, "a", State.RUNNING)
                here.interrupt("a", NOTE)
                job = await until(here, "a")
                assert job.outcome and job.outcome.reason == "deadline"
                assert [bool(each.started) for each in job.attempts] == [True, False]

        run(story())

    def test_a_job_keeps_its_place_on_the_machine(self, tmp_path: Path) -> None:
        async def story() -> None:
            cloud = Cloud(a=plan(SLEEP, interruptions=1), b=plan(SLEEP))
            async with engine(tmp_path, cloud, cores=1) as here:
                here.submit("cloud", "a", 1)
                here.submit("cloud", "b", 1)
                await until(here, "a", State.RUNNING)
                await interrupted(here, "a", 1)
                assert here.get("b").state is State.QUEUED

        run(story())

    def test_a_closed_server_does_not_run_it_again(self, tmp_path: Path) -> None:
        async def story() -> None:
            cloud = Cloud(a=plan(STUBBORN, interruptions=1, grace=0.3))
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 1)
                await written(here.log("a", "r0"))
                here.interrupt("a", NOTE)
            async with engine(tmp_path, cloud) as here:
                job = here.get("a")
                assert job.outcome and job.outcome.reason == "lost"
                assert len(job.attempts) == 1

        run(story())


@pytest.mark.parametrize("pause", [30.0, 0.0])  # killed in the pause, or in the second attempt
def test_a_server_that_is_killed_after_an_interruption(tmp_path: Path, pause: float) -> None:
    code = f"""if True:
        import asyncio, sys
        from pathlib import Path
        from local_cloud.engine.jobs import attempt_runner
        from local_cloud.engine.spec import State
        from tests.engine.support import (
            Cloud, LEAVES, engine, outside, plan, until, written,
        )
        attempt_runner.PAUSE = {pause}

        async def main():
            async with engine(Path(sys.argv[1]), Cloud(a=plan(LEAVES, interruptions=1))) as here:
                here.submit("cloud", "a", 1)
                log = here.log("a", "r0")
                children = [outside(log, int((await written(log, 1))[0]))]
                assert here.interrupt("a", "stopped")
                await until(here, "a", State.STAGING)
                lines = await written(log, 2 if {pause} else 4)
                children += [outside(log, int(line)) for line in lines[1:] if line.isdigit()]
                print(*children, flush=True)
                await asyncio.Event().wait()

        asyncio.run(main())
    """
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        children = [int(word) for word in server.stdout.readline().split()]
        assert len(children) == (1 if pause else 2)
        server.kill()
    assert gone(*children, within=5)

    async def story() -> None:
        async with engine(tmp_path, Cloud()) as here:
            job = here.get("a")
            assert job.outcome
            assert (job.state, job.outcome.reason) == (State.FAILED, "lost")
            assert len(job.attempts) == (1 if pause else 2)
            await asyncio.sleep(0.2)
            assert here.get("a") == job  # and it stays so

    run(story())
