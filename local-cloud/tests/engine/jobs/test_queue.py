"""Jobs while they are queued, stopped, waited for and deleted, with real processes."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from local_cloud.engine.spec import (
    EngineError,
    JobContext,
    NoSuchJob,
    Plan,
    State,
)
from tests.engine.support import (
    SLEEP,
    Cloud,
    ended,
    engine,
    plan,
    python,
    run,
    until,
)


class TestStop:
    def test_a_running_job(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(SLEEP, SLEEP))) as here:
                here.submit("cloud", "a", 2)
                await until(here, "a", State.RUNNING)
                assert here.stop("a").state is State.STOPPING
                assert here.stop("a").state is State.STOPPING
                job = await until(here, "a")
                assert job.outcome
                assert (job.state, job.outcome.reason) == (State.STOPPED, "stopped")
                assert here.stop("a") == job

        run(story())

    def test_a_queued_job_stops_at_once(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(SLEEP)), cores=1) as here:
                here.submit("cloud", "a", 1)
                here.submit("cloud", "b", 1)
                assert here.stop("b").state is State.STOPPED
                assert here.get("a").state is not State.STOPPED
                here.stop("a")

        run(story())

    def test_a_job_that_is_being_staged_never_starts(self, tmp_path: Path) -> None:
        def slowly(context: JobContext) -> Plan:
            time.sleep(0.3)
            return plan(python("print('ran')"))

        async def story() -> None:
            async with engine(tmp_path, Cloud(a=slowly)) as here:
                here.submit("cloud", "a", 1)
                await until(here, "a", State.STAGING)
                assert here.stop("a").state is State.STOPPING
                assert (await until(here, "a")).state is State.STOPPED
                assert not here.log("a", "r0").exists()

        run(story())


class TestQueue:
    def test_jobs_run_in_order_and_never_more_replicas_than_cores(self, tmp_path: Path) -> None:
        trace = tmp_path / "trace"
        sizes = {"a": 1, "b": 2, "c": 1, "d": 2, "big": 5, "f": 1}

        def step(name: str) -> tuple[str, ...]:
            write = f"open({str(trace)!r}, 'a').write"
            return python(
                f"import time; {write}('+{name}\\n'); time.sleep(0.1); {write}('-{name}\\n')"
            )

        cloud = Cloud(**{name: plan(*[step(name)] * size) for name, size in sizes.items()})

        async def story() -> None:
            async with engine(tmp_path, cloud, cores=2) as here:
                for name, size in sizes.items():
                    here.submit("cloud", name, size)
                jobs = [await until(here, name) for name in sizes]
                assert {job.state for job in jobs} == {State.SUCCEEDED}
                starts = [job.started or 0 for job in jobs]
                assert starts == sorted(starts)

        run(story())
        running: list[str] = []
        for line in trace.read_text().splitlines():
            (running.append if line[0] == "+" else running.remove)(line[1:])
            assert len(running) <= 2 or set(running) == {"big"}

    def test_a_queued_job_that_is_stopped_no_longer_holds_back_the_next(
        self, tmp_path: Path
    ) -> None:
        cloud = Cloud(a=plan(SLEEP), c=plan(python("")))

        async def story() -> None:
            async with engine(tmp_path, cloud, cores=2) as here:
                here.submit("cloud", "a", 1)
                here.submit("cloud", "b", 2)
                here.submit("cloud", "c", 1)
                await until(here, "a", State.RUNNING)
                assert here.get("c").state is State.QUEUED
                here.stop("b")
                assert (await until(here, "c")).state is State.SUCCEEDED

        run(story())

    def test_each_gpu_goes_to_one_job_at_a_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho GPU 0: A; echo GPU 1: A\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        tell = python("import os, time; print(os.environ['CUDA_VISIBLE_DEVICES']); time.sleep(0.3)")
        wanted = {"a": 1, "b": 1, "c": 1, "many": 9, "none": 0}
        cloud = Cloud(**dict.fromkeys(wanted, plan(tell)))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                for name, gpus in wanted.items():
                    here.submit("cloud", name, 1, gpus=gpus)
                jobs = {name: await until(here, name) for name in wanted}
                seen = {name: here.log(name, "r0").read_text().strip() for name in wanted}
                assert {seen["a"], seen["b"]} == {"0", "1"}
                assert (jobs["c"].started or 0) >= min(jobs["a"].ended or 0, jobs["b"].ended or 0)
                assert (seen["many"], seen["none"]) == ("0,1", "")  # never more than there are

        run(story())

    def test_cores_are_divided_among_replicas(self, tmp_path: Path) -> None:
        tell = python("import os; print(os.environ['OMP_NUM_THREADS'])")
        cloud = Cloud(a=plan(tell), b=plan(tell, tell, tell), c=plan(*[tell] * 9))

        async def story() -> None:
            async with engine(tmp_path, cloud, cores=8) as here:
                for name, size, threads in [("a", 1, 8), ("b", 3, 2), ("c", 9, 1)]:
                    await ended(here, name, size)
                    assert here.log(name, "r0").read_text() == f"{threads}\n"

        run(story())

    def test_names_that_no_file_should_bear_are_refused(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(SLEEP))) as here:
                here.submit("cloud", "a", 1)
                for name in ("../x", "", ".hidden", "a/b", "a\nb", "x" * 200):
                    with pytest.raises(EngineError, match="cannot name"):
                        here.submit("cloud", name, 1)
                with pytest.raises(EngineError, match="already"):
                    here.submit("cloud", "a", 1)
                with pytest.raises(EngineError, match="no job of"):
                    here.submit("nimbus", "b", 1)
                with pytest.raises(NoSuchJob):
                    here.get("b")

        run(story())


class TestWaiting:
    def test_changed_gives_up_after_its_timeout(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(SLEEP))) as here:
                here.submit("cloud", "a", 1)
                job = await until(here, "a", State.RUNNING)
                assert await here.wait_for_change(job, 0.1) == job

        run(story())

    def test_a_state_that_has_passed_answers_at_once(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(python("")))) as here:
                queued = here.submit("cloud", "a", 1)
                done = await until(here, "a")
                assert await here.wait_for_change(queued, 60) == done

        run(story())

    def test_a_job_that_is_deleted_meanwhile_is_not_waited_for(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(python("")))) as here:
                job = await ended(here, "a")
                waiting = asyncio.create_task(here.wait_for_change(job, 60))
                await asyncio.sleep(0)
                here.delete("a")
                with pytest.raises(NoSuchJob):
                    await waiting
                assert not (tmp_path / "jobs/a").exists()

        run(story())

    def test_only_an_ended_job_can_be_deleted(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(SLEEP))) as here:
                here.submit("cloud", "a", 1)
                with pytest.raises(EngineError, match="stop it first"):
                    here.delete("a")

        run(story())
