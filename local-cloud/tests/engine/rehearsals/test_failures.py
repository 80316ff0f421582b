"""Failures that are rehearsed: each is met once, by what it is meant for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.client.failures import FAILURES, JOB, LOST_WORKER, MEMORY, NO_QUOTA, SLOW, STUDY
from local_cloud.engine.rehearsals.failures import Failures, Rehearsed, parse_failure
from local_cloud.engine.spec import EngineError, State
from local_cloud.store.records import Records
from tests.engine.support import Cloud, engine, plan, python, run, until

SLEEPS = python("import time; print('begins', flush=True); time.sleep(60)")


@pytest.fixture
def failures(tmp_path: Path) -> Failures:
    return Failures(Records(tmp_path / "records.sqlite"))


def test_the_next_one_of_that_name_meets_it_once(failures: Failures) -> None:
    failures.add(Rehearsed(NO_QUOTA, "mine"))
    assert failures.meet((NO_QUOTA,), "another") is None
    assert failures.meet((MEMORY,), "mine") is None
    assert failures.meet((NO_QUOTA, MEMORY), "mine", "job-1") == Rehearsed(NO_QUOTA, "mine")
    assert failures.meet((NO_QUOTA,), "mine") is None
    assert failures.is_met(NO_QUOTA, "job-1")
    failures.forget("job-1")
    assert failures.of("job-1") is None


def test_all_meet_it_until_it_is_taken_back(failures: Failures) -> None:
    failures.add(Rehearsed(NO_QUOTA, every=True))
    assert all(failures.meet((NO_QUOTA,), name) for name in ("one", "other"))
    assert failures.clear() and not failures.clear()
    assert failures.meet((NO_QUOTA,), "one") is None


def test_a_transaction_that_fails_leaves_it_to_the_next(failures: Failures) -> None:
    failures.add(Rehearsed(MEMORY))
    with pytest.raises(RuntimeError), failures._records.transaction():
        assert failures.meet((MEMORY,), "a", "a")
        raise RuntimeError
    assert failures.of("a") is None
    assert failures.meet((MEMORY,), "b", "b")


class Service:
    """A cloud that refuses what has no quota, and gives no trial to refuse."""

    def candidates(self, kind: str, key: str) -> tuple[str, list[str]]:
        return key, [MEMORY] if key == "trial" else [NO_QUOTA, MEMORY]

    def problem(self, failure: str, job_id: str) -> Exception | None:
        return PermissionError(job_id) if failure == NO_QUOTA else None


def test_a_request_is_refused_once_though_nothing_of_it_stays(failures: Failures) -> None:
    failures.start({"cloud": Service()})
    failures.add(Rehearsed(NO_QUOTA))
    failures.submit(JOB, "cloud", "trial")
    failures.submit(STUDY, "cloud", "a-study")
    failures.submit(JOB, "another cloud", "a-job")
    with pytest.raises(PermissionError), failures._records.transaction():
        failures.submit(JOB, "cloud", "a-job")
    assert failures.list_waiting() == []
    failures.submit(JOB, "cloud", "a-job")


@given(st.dictionaries(st.text(max_size=8), st.none() | st.booleans() | st.text() | st.floats()))
def test_a_request_is_taken_as_it_should_be_or_refused(document: dict[str, Any]) -> None:
    try:
        assert parse_failure(document).failure in FAILURES
    except EngineError as problem:
        assert str(problem)


def test_memory_hits_the_first_replica_and_a_lost_machine_the_last(tmp_path: Path) -> None:
    async def story() -> None:
        jobs = {name: plan(SLEEPS, SLEEPS, grace=0.1) for name in ("memory", "machine", "fast")}
        jobs["fast"] = plan(python("pass"), python("pass"))
        async with engine(tmp_path, Cloud(**jobs)) as here:
            for name, failure in (("memory", MEMORY), ("machine", LOST_WORKER), ("fast", MEMORY)):
                here.failures.add(Rehearsed(failure))
                here.failures.meet((failure,), name, name)
                here.submit("cloud", name, 2)
                job = await until(here, name)
                assert job.outcome and job.state is State.FAILED
                assert job.outcome.reason == ("machine" if name == "machine" else "memory")
                names = sorted(here.logs(name))
                assert job.outcome.replica == names[-1 if name == "machine" else 0]
                assert job.outcome.code == -9
                text = here.log(name, names[0]).read_text()
                assert f"rehearsed failure: {failure}" in text

    run(story())


def test_slow_provisioning_keeps_a_job_waiting_which_can_be_stopped(tmp_path: Path) -> None:
    async def story() -> None:
        cloud = Cloud(slow=plan(python("pass")), stopped=plan(python("pass")))
        async with engine(tmp_path, cloud) as here:
            for name, seconds in (("slow", 0.3), ("stopped", 600)):
                here.failures.add(Rehearsed(SLOW, seconds=seconds))
                here.failures.meet((SLOW,), name, name)
            here.submit("cloud", "slow", 1)
            job = await until(here, "slow")
            assert job.state is State.SUCCEEDED and job.started and job.ended
            assert job.started - job.attempts[0].staged >= 0.3
            here.submit("cloud", "stopped", 1)
            await until(here, "stopped", State.STAGING)
            here.stop("stopped")
            job = await until(here, "stopped")
            assert job.state is State.STOPPED and job.started is None

    run(story())
