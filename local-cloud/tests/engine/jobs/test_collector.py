"""Work on a job's files that would take very long: it stops when somebody wants it to."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from local_cloud.engine.jobs import attempt_runner, collector
from local_cloud.engine.spec import Job, JobContext, Plan, State
from local_cloud.store import interruption
from tests.engine.support import SLEEP, Cloud, engine, plan, python, run, until, written


def work_without_end(started: Path) -> None:
    """Copy, pack or remove piece after piece of some huge folder."""
    started.write_text("it works\n")
    while True:
        interruption.check()
        time.sleep(0.01)


class Endless(Cloud):
    """Whose job `a` has results without end."""

    def __init__(self, folder: Path, **plans: Plan) -> None:
        super().__init__(**plans)
        self.started = folder / "started"

    def collect(self, job: Job) -> None:
        if job.id == "a":
            work_without_end(self.started)


def test_a_stop_while_results_are_brought_away_ends_that_and_the_next_job_starts(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        cloud = Endless(tmp_path, a=plan(python("")), b=plan(python("")))
        async with engine(tmp_path, cloud, cores=1) as here:
            here.submit("cloud", "a", 1)
            here.submit("cloud", "b", 1)
            await written(cloud.started)
            assert here.stop("a").state is State.STOPPING
            job = await until(here, "a")
            assert job.state is State.STOPPED and job.outcome
            assert job.outcome.message.endswith("Not all of its results were kept.")
            assert (await until(here, "b")).state is State.SUCCEEDED

    run(story())


def test_the_results_of_a_stopped_job_are_brought_away_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "OF_STOPPED", 0.1)

    async def story() -> None:
        cloud = Endless(tmp_path, a=plan(SLEEP))
        async with engine(tmp_path, cloud) as here:
            here.submit("cloud", "a", 1)
            await until(here, "a", State.RUNNING)
            here.stop("a")
            job = await until(here, "a")
            assert job.state is State.STOPPED and job.outcome
            assert job.outcome.message.startswith("The job was stopped on request.")

    run(story())


def test_a_failure_stays_one_when_its_results_are_not_all_kept(tmp_path: Path) -> None:
    async def story() -> None:
        cloud = Endless(tmp_path, a=plan(python("raise SystemExit(3)")))
        async with engine(tmp_path, cloud) as here:
            here.submit("cloud", "a", 1)
            await written(cloud.started)
            here.stop("a")
            job = await until(here, "a")
            assert job.outcome and (job.state, job.outcome.code) == (State.FAILED, 3)

    run(story())


def test_the_servers_end_does_not_wait_for_results_without_end(tmp_path: Path) -> None:
    async def story() -> None:
        cloud = Endless(tmp_path, a=plan(python("")))
        async with engine(tmp_path, cloud) as here:
            here.submit("cloud", "a", 1)
            await written(cloud.started)
            began = time.monotonic()
        assert time.monotonic() - began < 10  # 0.1 s on an idle machine
        async with engine(tmp_path) as here:
            outcome = here.get("a").outcome
            assert outcome and outcome.reason == "lost"

    run(story())


def test_a_stop_while_inputs_are_brought_ends_that(tmp_path: Path) -> None:
    def stage(_: JobContext) -> Plan:
        work_without_end(tmp_path / "started")
        raise AssertionError

    async def story() -> None:
        async with engine(tmp_path, Cloud(a=stage)) as here:
            here.submit("cloud", "a", 1)
            await written(tmp_path / "started")
            here.stop("a")
            assert (await until(here, "a")).state is State.STOPPED

    run(story())


def test_the_folder_of_a_forgotten_job_is_gone_at_once_and_removed_meanwhile(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan(python("")))) as here:
            here.submit("cloud", "a", 1)
            await until(here, "a")
            here.delete("a")
            assert not (tmp_path / "jobs/a").exists()
            (tmp_path / "jobs/.removed-by-an-earlier-server/deep").mkdir(parents=True)
        async with engine(tmp_path):
            deadline = time.monotonic() + 20
            while list((tmp_path / "jobs").glob(".removed-*")):
                assert time.monotonic() < deadline

    run(story())


@pytest.mark.parametrize("retries", [0, 1])
def test_a_job_that_puts_a_pipe_in_the_place_of_its_log_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int
) -> None:
    """Opening a pipe waits for somebody who writes to it: the server would wait for ever."""
    code = "import os; os.unlink('../r0.log'); os.mkfifo('../r0.log'); raise SystemExit(6)"

    monkeypatch.setattr(attempt_runner, "PAUSE", 0.1)

    async def story() -> None:
        once_more = plan(python(code), retried=frozenset({6}), retries=retries)
        async with engine(tmp_path, Cloud(a=once_more)) as here:
            here.submit("cloud", "a", 1)
            outcome = (await until(here, "a")).outcome
            assert outcome and outcome.last_lines == ()
            assert outcome.reason == ("staging" if retries else "exit")

    run(story())
