"""How jobs end by themselves: with real processes, and which of them decides."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from local_cloud.engine.spec import Job, JobContext, JobRefused, Plan, Replica, State
from tests.engine.support import SLEEP, Cloud, ended, engine, plan, python, run, until


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
        primary = python("import time; time.sleep(0.3)")
        other = python("import time; time.sleep(60); print('ran on')")
        cloud = Cloud(a=plan(primary, other, python(""), primary=0))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                assert (await ended(here, "a", 3)).state is State.SUCCEEDED
                assert here.log("a", "r1").read_text() == ""

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
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); time.sleep(60); print('ran on')"
        )
        cloud = Cloud(a=plan(follows, fails, SLEEP, primary=0))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 3)
                job = await until(here, "a")
                assert here.log("a", "r0").read_text() == ""
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

    def test_what_cannot_be_started_fails_as_in_a_shell(self, tmp_path: Path) -> None:
        missing = "No such file or directory: "
        wrong = {
            f"{missing}'no-such-com": Replica("r1", ("no-such-command",), {}),
            f"{missing}'/now": Replica("r1", SLEEP, {}, folder=Path("/nowhere")),
            "null byte": Replica("r1", ("echo", "a\0b"), {}),
            "illegal environment variable name": Replica("r1", SLEEP, {"A=B": ""}),
            "cannot be started": Replica("r1", (), {}),
        }
        plans = {
            f"job-{number}": Plan((Replica("r0", SLEEP, {}), replica))
            for number, replica in enumerate(wrong.values())
        }

        async def story() -> None:
            async with engine(tmp_path, Cloud(**plans), cores=10) as here:
                for name in plans:
                    here.submit("cloud", name, 2)
                for name, why in zip(plans, wrong, strict=True):
                    job = await until(here, name)
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
