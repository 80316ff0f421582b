"""A job that is run again as a whole: after an interruption, or after certain exit codes."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine.jobs import attempt_runner
from local_cloud.engine.jobs.attempt_runner import AGAIN
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import ANY_NUMBER, Attempt, Job, JobContext, Outcome, State
from local_cloud.store.records import Records
from tests.engine.support import (
    LEAVES,
    SLEEP,
    STUBBORN,
    Cloud,
    alive,
    engine,
    outside,
    plan,
    python,
    run,
    until,
    written,
)

NOTE = "the stop that the test asked for"
# Says what it finds in its folder, leaves something there, and stays.
LEAVES_A_FILE = python(
    "import os, time; print(os.getpid(), sorted(n for n in os.listdir('.') if n[0] != '.'));"
    "os.makedirs('deep/er'); open('deep/er/file', 'w').close(); print('here'); time.sleep(60)"
)


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_runner, "PAUSE", 0.05)


def counting(folder: Path, *codes: int) -> tuple[str, ...]:
    """Exits with the first code the first time, with the second the second, …; then with 0."""
    return python(
        f"import os, sys; codes = {codes}; file = {str(folder / 'count')!r};"
        "n = os.path.getsize(file) if os.path.exists(file) else 0;"
        "open(file, 'a').write('x'); sys.exit((codes + (0,) * 99)[n])"
    )


async def interrupted(here: JobQueue, job_id: str, attempt: int) -> Job:
    """Interrupt the job in this attempt of it, as soon as it runs; the job as it runs again."""
    while len(here.get(job_id).attempts) < attempt or not here.interrupt(job_id, NOTE):
        await asyncio.sleep(0.01)
    while len((job := here.get(job_id)).attempts) == attempt and not job.state.ended:
        await asyncio.sleep(0.01)
    return job


class TestInterruption:
    def test_it_ends_all_replicas_and_runs_the_job_again(self, tmp_path: Path) -> None:
        commands = LEAVES_A_FILE, LEAVES, STUBBORN
        cloud = Cloud(a=plan(*commands, interruptions=1, grace=0.3, notes=("a note",)))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 3)
                logs = [here.log("a", f"r{n}") for n in range(3)]
                lines = [await written(log, 2) for log in logs]
                said = int(lines[0][1].split()[0]), int(lines[1][1])
                old = [outside(log, number) for log, number in zip(logs, said, strict=False)]
                await written(logs[0], 3)
                begun = time.time()
                job = await interrupted(here, "a", 1)
                assert not any(map(alive, old))
                first, second = job.attempts
                assert first.staged <= (first.started or 0) <= begun <= (first.interrupted or 0)
                assert 0.3 <= (first.ended or 0) - (first.interrupted or 0) < 5  # the deaf one's
                assert (first.ended or 0) + 0.05 <= second.staged
                again = await written(logs[0], 7)
                assert again[0] == "a note" and again[3:5] == [NOTE, f"{AGAIN}2"]
                assert again[5].endswith("[]")  # nothing of the first attempt's is left
                assert lines[0][1].endswith("[]")
                here.stop("a")
                job = await until(here, "a")
                assert (job.state, job.interruptions) == (State.STOPPED, 1)
                assert Job.of(json.loads(json.dumps(job.document()))) == job

        run(story())

    def test_the_states_on_the_way(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(SLEEP, interruptions=1))) as here:
                job = here.submit("cloud", "a", 1)
                job = await until(here, "a", State.RUNNING)
                began = job.started
                assert here.interrupt("a", NOTE)
                assert not here.interrupt("a", NOTE)  # it is being ended already
                seen = [State.RUNNING]
                while len(seen) < 3:
                    job = await here.wait_for_change(job, 10)
                    seen.append(job.state)
                assert seen == [State.RUNNING, State.STAGING, State.RUNNING]
                assert job.started == began

        run(story())

    def test_once_more_than_the_plan_allows_is_the_end(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(SLEEP, interruptions=2))) as here:
                here.submit("cloud", "a", 1)
                for attempt in (1, 2, 3):
                    await interrupted(here, "a", attempt)
                job = await until(here, "a")
                assert job.outcome
                assert (job.state, job.outcome.reason) == (State.FAILED, "interrupted")
                assert "interrupted 3 times" in job.outcome.message
                assert [bool(each.interrupted) for each in job.attempts] == [True] * 3

        run(story())

    def test_a_job_whose_plan_knows_no_interruptions_is_left_alone(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(SLEEP), b=plan(SLEEP))) as here:
                here.submit("cloud", "a", 1)
                await until(here, "a", State.RUNNING)
                assert not here.interrupt("a", NOTE)
                assert here.get("a").interruptions == 0
                assert NOTE not in here.log("a", "r0").read_text()

        run(story())

    def test_what_it_does_when_told_to_end_decides_nothing(self, tmp_path: Path) -> None:
        """A script that has saved its work may well exit with 0: it is to go on all the same."""
        polite = python(
            "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0));"
            "print('ready'); time.sleep(60)"
        )

        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(polite, interruptions=1, primary=0))) as here:
                here.submit("cloud", "a", 1)
                await written(here.log("a", "r0"))
                assert len((await interrupted(here, "a", 1)).attempts) == 2

        run(story())

    def test_every_attempt_has_ports_of_its_own_and_leaves_them(self, tmp_path: Path) -> None:
        ports: list[int] = []

        def staged(context: JobContext) -> Any:
            ports.append(context.port())
            return plan(SLEEP, interruptions=ANY_NUMBER)

        async def story() -> None:
            async with engine(tmp_path, Cloud(a=staged)) as here:
                here.submit("cloud", "a", 1)
                await interrupted(here, "a", 1)
                await until(here, "a", State.RUNNING)
                assert len(set(ports)) == 2
                assert here.ports._taken == {ports[1]}

        run(story())


class TestRetries:
    def test_certain_exit_codes_run_the_job_again(self, tmp_path: Path) -> None:
        """All replicas of it, also those that had succeeded."""
        commands = python("print('chief')"), counting(tmp_path, 6, 139)
        cloud = Cloud(a=plan(*commands, retried=frozenset({6, 139}), retries=3))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 2)
                job = await until(here, "a")
                assert job.state is State.SUCCEEDED
                assert here.log("a", "r0").read_text().endswith(f"{AGAIN}3\nchief\n")
                assert [each.interrupted for each in job.attempts] == [None] * 3
                assert all(each.started and each.ended for each in job.attempts)
                assert cloud.collected == [
                    replace(
                        job, ended=cloud.collected[0].ended, attempts=cloud.collected[0].attempts
                    )
                ]

        run(story())

    def test_so_often_and_after_no_others(self, tmp_path: Path) -> None:
        codes = {"often": (6,) * 9, "another": (1,), "then": (6, 1)}
        attempts = {"often": 3, "another": 1, "then": 2}
        plans = {}
        for name in codes:
            (tmp_path / name).mkdir()
            command = counting(tmp_path / name, *codes[name])
            plans[name] = plan(command, retried=frozenset({6}), retries=2)
        cloud = Cloud(**plans)

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                for name in codes:
                    here.submit("cloud", name, 1)
                for name, count in attempts.items():
                    job = await until(here, name)
                    assert job.outcome
                    assert (job.state, job.outcome.reason) == (State.FAILED, "exit")
                    assert (job.outcome.code, len(job.attempts)) == (codes[name][count - 1], count)
                # Once, at the end.
                assert sorted(each.id for each in cloud.collected) == sorted(codes)

        run(story())

    def test_an_interruption_is_no_retry(self, tmp_path: Path) -> None:
        """Each has its own count."""
        waits = python(
            f"import os, sys, time; file = {str(tmp_path / 'count')!r};"
            "n = os.path.getsize(file) if os.path.exists(file) else 0;"
            "open(file, 'a').write('x'); time.sleep(60 * (n < 2)); sys.exit(6 * (n < 3))"
        )
        cloud = Cloud(a=plan(waits, retried=frozenset({6}), retries=1, interruptions=2))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 1)
                await written(here.log("a", "r0"), 0)
                for attempt in (1, 2):
                    while not (tmp_path / "count").exists() or (
                        (tmp_path / "count").stat().st_size < attempt
                    ):
                        await asyncio.sleep(0.01)
                    await interrupted(here, "a", attempt)
                job = await until(here, "a")
                assert job.state is State.SUCCEEDED
                assert [bool(each.interrupted) for each in job.attempts] == [
                    True,
                    True,
                    False,
                    False,
                ]

        run(story())


def test_a_record_from_before_there_were_attempts(tmp_path: Path) -> None:
    document = Job("a", "cloud", 1, State.SUCCEEDED, created=1.0).document()
    del document["attempts"]
    assert Job.of(document).attempts == ()


times = st.none() | st.floats(0, 1e10)
attempts = st.builds(Attempt, st.floats(0, 1e10), times, times, times)


@given(st.lists(attempts).map(tuple))
def test_a_job_is_read_back_as_it_was_written(tries: tuple[Attempt, ...]) -> None:
    outcome = Outcome(State.FAILED, "exit", "it failed", "r0", 6, ("a", "b"))
    job = Job("a", "cloud", 1, State.FAILED, 1.0, outcome=outcome, attempts=tries)
    assert Job.of(json.loads(json.dumps(job.document()))) == job


def test_records_of_attempts_are_on_the_disk_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan(SLEEP, interruptions=1))) as here:
            here.submit("cloud", "a", 1)
            await until(here, "a", State.RUNNING)
            here.interrupt("a", NOTE)
            other = Records(tmp_path / "records.db")
            document = other.get("job", "a")
            other.close()
            assert document and Job.of(document) == here.get("a")
            assert here.get("a").interruptions == 1

    run(story())
