"""A job that is run again as a whole: after an interruption, or after certain exit codes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
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
from local_cloud.engine.spec import ANY_NUMBER, Attempt, Job, JobContext, JobRefused, Outcome, State
from local_cloud.store.records import Records
from tests.engine.support import (
    LEAVES,
    SLEEP,
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
    written,
)

ROOT = Path(__file__).parents[3]
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
        command = counting(tmp_path, 6, 139)
        cloud = Cloud(a=plan(command, retried=frozenset({6, 139}), retries=3))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 1)
                job = await until(here, "a")
                assert job.state is State.SUCCEEDED
                assert [each.interrupted for each in job.attempts] == [None] * 3
                assert all(each.started and each.ended for each in job.attempts)
                assert cloud.collected == [
                    replace(
                        job, ended=cloud.collected[0].ended, attempts=cloud.collected[0].attempts
                    )
                ]

        run(story())

    @pytest.mark.parametrize(("codes", "attempts"), [((6,) * 9, 3), ((1,), 1), ((6, 1), 2)])
    def test_so_often_and_after_no_others(
        self, tmp_path: Path, codes: tuple[int, ...], attempts: int
    ) -> None:
        cloud = Cloud(a=plan(counting(tmp_path, *codes), retried=frozenset({6}), retries=2))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 1)
                job = await until(here, "a")
                assert job.outcome
                assert (job.state, job.outcome.reason) == (State.FAILED, "exit")
                assert (job.outcome.code, len(job.attempts)) == (codes[attempts - 1], attempts)
                assert len(cloud.collected) == 1  # once, at the end

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
