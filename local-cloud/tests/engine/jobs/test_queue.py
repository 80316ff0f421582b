"""Jobs from submission to their end, with real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import (
    EngineError,
    Job,
    JobContext,
    JobRefused,
    NoSuchJob,
    Plan,
    Replica,
    State,
)
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
    until_there,
    written,
)


async def ended(engine: JobQueue, job_id: str, size: int = 1) -> Job:
    """Send a job and wait for its end."""
    engine.submit("cloud", job_id, size)
    return await until(engine, job_id)


class TestSuccess:
    def test_a_job_is_queued_then_runs_then_succeeds(self, tmp_path: Path) -> None:
        cloud = Cloud(a=plan(python("print('hello')"), notes=("a note",)))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                job = here.submit("cloud", "a", 1)
                seen = [job.state]
                while not job.state.ended:
                    job = await here.wait_for_change(job, 10)
                    seen.append(job.state)
                assert seen == [State.QUEUED, State.STAGING, State.RUNNING, State.SUCCEEDED]
                assert job.outcome and job.outcome.reason == "succeeded"
                assert job.started and job.ended
                assert job.created <= job.started <= job.ended
                assert here.log("a", "r0").read_text() == "a note\nhello\n"
                assert [one.id for one in here.jobs()] == ["a"]

        run(story())

    def test_all_replicas_must_succeed_when_none_is_primary(self, tmp_path: Path) -> None:
        late = python("import time; time.sleep(0.3); print('done')")
        cloud = Cloud(a=plan(python(""), late))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                assert (await ended(here, "a", 2)).state is State.SUCCEEDED
                assert here.log("a", "r1").read_text() == "done\n"

        run(story())

    def test_success_of_the_primary_ends_the_job_and_the_others(self, tmp_path: Path) -> None:
        cloud = Cloud(a=plan(python("import time; time.sleep(0.3)"), SLEEP, python(""), primary=0))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                began = time.monotonic()
                assert (await ended(here, "a", 3)).state is State.SUCCEEDED
                assert time.monotonic() - began < 10

        run(story())

    def test_results_are_collected_before_the_end_shows(self, tmp_path: Path) -> None:
        class Slow(Cloud):
            def collect(self, job: Job) -> None:
                time.sleep(0.2)
                super().collect(job)

        cloud = Slow(a=plan(python("")), b=plan(python("raise SystemExit(4)")))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                for name in "ab":
                    job = await ended(here, name)
                    seen = cloud.collected[-1]
                    assert (seen.id, seen.state, seen.outcome) == (name, job.state, job.outcome)

        run(story())


class TestFailure:
    def test_the_first_of_three_to_fail_is_named_with_its_last_words(self, tmp_path: Path) -> None:
        fails = python("import time, sys; time.sleep(0.2); print('why'); sys.exit(3)")
        # Notices SIGTERM and then fails too, with another code.
        follows = python(
            "import signal, sys, time;"
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); time.sleep(60)"
        )
        cloud = Cloud(a=plan(follows, fails, SLEEP, primary=0))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 3)
                await written(here.log("a", "r1"))
                failed = time.monotonic()
                job = await until(here, "a")
                assert time.monotonic() - failed < 2
                assert job.outcome
                assert (job.state, job.outcome.reason) == (State.FAILED, "exit")
                assert (job.outcome.replica, job.outcome.code) == ("r1", 3)
                assert job.outcome.last_lines == ("why",)
                assert "r1 exited with code 3" in job.outcome.message

        run(story())

    def test_of_replicas_that_fail_at_nearly_the_same_time_the_first_is_named(
        self, tmp_path: Path
    ) -> None:
        # The loop is kept busy while first r2 fails and then, because of that, the others.
        follow = python(
            "import sys, time, pathlib\n"
            "while not pathlib.Path('../fell').exists(): time.sleep(0.001)\n"
            "sys.exit(1)"
        )
        first = python(
            "import os, time; time.sleep(0.3);"
            "os.fork() or (time.sleep(0.1), open('../fell', 'w'), os._exit(0)); os._exit(2)"
        )
        cloud = Cloud(a=plan(follow, follow, first))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 3)
                await until(here, "a", State.RUNNING)
                time.sleep(1)
                job = await until(here, "a")
                assert job.outcome and (job.outcome.replica, job.outcome.code) == ("r2", 2)

        run(story())

    def test_a_replica_killed_by_a_signal_has_a_negative_code(self, tmp_path: Path) -> None:
        cloud = Cloud(a=plan(python("import os; os.kill(os.getpid(), 9)")))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                job = await ended(here, "a")
                assert job.outcome and job.outcome.code == -signal.SIGKILL
                assert "SIGKILL" in job.outcome.message
                assert "memory" in job.outcome.message

        run(story())

    @pytest.mark.parametrize(
        ("wrong", "why"),
        [
            (Replica("r1", ("no-such-command",), {}), "No such file or directory: 'no-such-com"),
            (Replica("r1", SLEEP, {}, folder=Path("/nowhere")), "No such file or directory: '/now"),
            (Replica("r1", ("echo", "a\0b"), {}), "null byte"),
            (Replica("r1", SLEEP, {"A=B": ""}), "illegal environment variable name"),
            (Replica("r1", (), {}), "cannot be started"),
        ],
    )
    def test_what_cannot_be_started_fails_as_in_a_shell(
        self, tmp_path: Path, wrong: Replica, why: str
    ) -> None:
        cloud = Cloud(a=Plan((Replica("r0", SLEEP, {}), wrong, Replica("r2", SLEEP, {}))))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                job = await ended(here, "a", 3)
                assert job.outcome and (job.outcome.replica, job.outcome.code) == ("r1", 127)
                assert why in job.outcome.last_lines[0]

        run(story())

    def test_a_deadline_counts_the_running(self, tmp_path: Path) -> None:
        def slowly(context: JobContext) -> Plan:
            time.sleep(0.5)
            return plan(python("import time; time.sleep(0.05)"), timeout=0.4)

        cloud = Cloud(a=plan(SLEEP, timeout=0.2), b=slowly)

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                job = await ended(here, "a")
                assert job.outcome
                assert (job.state, job.outcome.reason) == (State.FAILED, "timeout")
                assert "0.2 s" in job.outcome.message
                assert (await ended(here, "b")).state is State.SUCCEEDED

        run(story())

    def test_what_staging_refuses_is_the_jobs_message(self, tmp_path: Path) -> None:
        def refuse(context: JobContext) -> Plan:
            raise JobRefused("there is no gs://bucket/x")

        def two_of_a_name(context: JobContext) -> Plan:
            return Plan((Replica("r", (), {}), Replica("r", (), {})))

        def outside(context: JobContext) -> Plan:
            return Plan((Replica("../r", (), {}),))

        cloud = Cloud(a=refuse, b=two_of_a_name, c=outside, d=plan(SLEEP))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                job = await ended(here, "a")
                assert job.outcome
                assert (job.state, job.outcome.reason) == (State.FAILED, "staging")
                assert job.outcome.message == "there is no gs://bucket/x"
                assert job.started is None
                for name, size in [("b", 2), ("c", 1), ("d", 3)]:
                    job = await ended(here, name, size)
                    assert job.outcome and job.outcome.reason == "staging"
                assert cloud.collected == []

        run(story())

    def test_a_success_whose_results_cannot_be_collected_is_a_failure(self, tmp_path: Path) -> None:
        class Full(Cloud):
            def collect(self, job: Job) -> None:
                raise OSError(28, "No space left on device")

        async def story() -> None:
            async with engine(tmp_path, Full(a=plan(python("")))) as here:
                job = await ended(here, "a")
                assert job.outcome
                assert (job.state, job.outcome.reason) == (State.FAILED, "collect")
                assert "No space left" in job.outcome.message

        run(story())

    def test_a_fault_in_a_dialect_ends_the_job_and_not_the_engine(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(python(""))), cores=1) as here:
                job = await ended(here, "unplanned")
                assert job.outcome and "KeyError" in job.outcome.message
                assert (await ended(here, "a")).state is State.SUCCEEDED

        run(story())
        assert "unplanned" in caplog.text


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

    def test_a_replica_deaf_to_sigterm_is_killed_after_the_grace(self, tmp_path: Path) -> None:
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
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("local_cloud.engine.jobs.attempt_runner.LOST_GRACE", 0.2)

        async def story() -> None:
            async with engine(tmp_path, Cloud(a=plan(STUBBORN, grace=600))) as here:
                here.submit("cloud", "a", 1)
                await written(here.log("a", "r0"))

        run(story())  # it gives up long before the grace is over

    def test_sigterm_leaves_time_to_save(self, tmp_path: Path) -> None:
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

    def test_a_replica_under_sigstop(self, tmp_path: Path) -> None:
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

    def test_nothing_survives_not_even_what_left_the_group(self, tmp_path: Path) -> None:
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
