"""Somebody sets the machine's clock back while something runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.amazon.sagemaker.jobs import status
from local_cloud.amazon.sagemaker.pipelines.table import PipelineTable
from local_cloud.engine.jobs.job_table import with_attempt, with_outcome
from local_cloud.engine.jobs.rental_records import of_job
from local_cloud.engine.rental import Rental, RentedResource
from local_cloud.engine.spec import Attempt, Job, Outcome, State
from local_cloud.google.vertex.pipelines.runner import new_task
from local_cloud.google.vertex.resources.schema import timestamp, timestamp_after
from local_cloud.store import clock
from local_cloud.store.records import Records
from tests.engine.support import Cloud, engine, plan, python, run, until

BEFORE, AFTER = 1_000_000.0, 996_400.0  # the clock is set back by an hour
DONE = Outcome(State.SUCCEEDED, "succeeded", "")


@pytest.fixture
def set_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(time, "time", lambda: AFTER)
    yield


def started() -> Job:
    attempt = Attempt(BEFORE, BEFORE + 1)
    return Job("a", "c", 1, State.RUNNING, BEFORE - 1, started=BEFORE + 1, attempts=(attempt,))


def test_the_time_is_the_latest_of_those_that_are_known(set_back: None) -> None:
    assert clock.now_after() == clock.now_after(None, AFTER - 1) == AFTER
    assert clock.now_after(BEFORE, None, AFTER) == BEFORE


def test_no_job_and_no_attempt_ends_before_it_starts(set_back: None) -> None:
    job = with_attempt(started(), ended=time.time())
    assert job.attempts[-1].ended == BEFORE + 1
    assert with_outcome(job, DONE).ended == BEFORE + 1


def test_the_steps_of_a_training_job_keep_their_order(set_back: None) -> None:
    job = with_outcome(with_attempt(started(), ended=time.time()), DONE)
    steps_shown = status.progress(job, {"uploading": BEFORE + 500})
    assert steps_shown["SecondaryStatus"] == "Completed"
    assert all(
        step["EndTime"] >= step["StartTime"] for step in steps_shown["SecondaryStatusTransitions"]
    )
    assert steps_shown["TrainingTimeInSeconds"] == 1


def test_no_bill_has_a_negative_time(set_back: None) -> None:
    rental = Rental("r", RentedResource("vertex", "endpoint", "e", ())).with_count(2, BEFORE)
    rental = rental.with_count(1, AFTER).with_count(0, AFTER + 1)
    assert all(run.until >= run.since for run in rental.runs(AFTER))  # type: ignore[operator]
    running = Rental("r", RentedResource("vertex", "endpoint", "e", ())).with_count(1, BEFORE)
    for each in (running, of_job(started())):
        assert all(run.until >= run.since for run in each.runs(AFTER))  # type: ignore[operator]


def test_no_task_and_no_step_of_a_pipeline_ends_before_it_starts(
    tmp_path: Path, set_back: None
) -> None:
    task = new_task("p", "p", "container", component="c", parent="")
    task = task.now("RUNNING", started=BEFORE).now("SUCCEEDED")
    assert task.ended == BEFORE
    records = Records(tmp_path / "records.sqlite")
    table = PipelineTable(records)
    table.put_step("e", "s", start=BEFORE)
    assert table.put_step("e", "s", end=time.time())["end"] == BEFORE
    records.close()


def test_no_batch_prediction_ends_before_it_starts(set_back: None) -> None:
    job: dict[str, Any] = {"createTime": timestamp(BEFORE - 1), "startTime": timestamp(BEFORE)}
    assert timestamp_after(job) == timestamp(BEFORE)
    assert timestamp_after({}) == timestamp(AFTER)


def test_a_job_runs_from_start_to_end_while_the_clock_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every look at the clock gives a time an hour before the last one."""
    now = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(now)))

    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan(python("")))) as here:
            here.submit("cloud", "a", 1)
            job = await until(here, "a")
            assert job.state is State.SUCCEEDED and job.started and job.ended
            (attempt,) = job.attempts
            assert attempt.started and attempt.ended
            assert job.created <= attempt.staged <= attempt.started <= attempt.ended <= job.ended

    run(story())
