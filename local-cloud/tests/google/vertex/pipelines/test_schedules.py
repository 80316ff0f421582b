"""Schedules of pipelines: by the real SDK, and by a clock of ours."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions

import local_cloud
from local_cloud.google.vertex.pipelines.schedules import Schedules
from local_cloud.store.records import Records
from tests.google.vertex.pipelines.test_pipelines import pipeline
from tests.google.vertex.support import BUCKET

PARENT = "projects/101/locations/us-central1"
NOON = datetime(2026, 11, 27, 12, tzinfo=UTC).timestamp()
HOUR = 3600.0
WRITE = 'mkdir -p "${0%/*}"; printf x > "$0"'  # the task's output


@pytest.fixture
def job(aiplatform: ModuleType, tmp_path: Path) -> Any:
    file = tmp_path / "pipeline.json"
    file.write_text(json.dumps(pipeline({"a": (WRITE, {})})))
    return aiplatform.PipelineJob(
        display_name="planned", template_path=str(file), pipeline_root=f"gs://{BUCKET}/planned"
    )


@pytest.mark.slow
def test_a_schedule_begins_runs_until_there_have_been_enough(job: Any) -> None:
    schedule = job.create_schedule(cron="* * * * *", display_name="each minute", max_run_count=1)
    end = time.monotonic() + 150
    while schedule.state.name != "COMPLETED":
        assert time.monotonic() < end
        time.sleep(1)
    (run,) = schedule.list_jobs(enable_simple_view=False)
    run.wait()
    assert run.state.name == "PIPELINE_STATE_SUCCEEDED"
    assert run.gca_resource.schedule_name == schedule.resource_name
    resource = schedule.gca_resource
    assert resource.started_run_count == 1
    assert resource.last_scheduled_run_response.run_response == run.resource_name
    assert resource.last_scheduled_run_response.scheduled_run_time.second == 0
    with pytest.raises(exceptions.BadRequest, match="is COMPLETED"):
        schedule.pause()


def test_a_schedule_is_kept_paused_resumed_changed_and_deleted(
    aiplatform: ModuleType, job: Any
) -> None:
    schedule = job.create_schedule(
        cron="TZ=Europe/Berlin 0 3 1 1 *", display_name="new year", max_concurrent_run_count=2
    )
    resource = schedule.gca_resource
    assert (schedule.state.name, resource.next_run_time.hour, resource.next_run_time.day) == (
        "ACTIVE",
        2,
        1,
    )
    local_cloud.stop()
    local_cloud.activate()
    again = aiplatform.PipelineJobSchedule.get(schedule.resource_name)
    assert again.gca_resource.next_run_time == resource.next_run_time
    listed = aiplatform.PipelineJobSchedule.list(filter='display_name="new year"')
    assert [one.name for one in listed] == [schedule.name]
    again.pause()
    assert again.state.name == "PAUSED"
    with pytest.raises(exceptions.BadRequest, match="is PAUSED, not ACTIVE"):
        again.pause()
    again.resume()
    assert again.state.name == "ACTIVE"
    again.update(cron="0 4 1 1 *", max_run_count=3)
    assert (again.cron, again.max_run_count) == ("0 4 1 1 *", 3)
    assert again.gca_resource.next_run_time.hour == 4
    again.delete()
    assert aiplatform.PipelineJobSchedule.list(filter='display_name="new year"') == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"cron": "every day"}, "2 fields"),
        ({"end_time": "2020-01-01T00:00:00Z"}, "endTime"),
        ({"max_run_count": -1}, "maxRunCount: -1"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(job: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(exceptions.BadRequest, match=message):
        job.create_schedule(**{"cron": "* * * * *", "display_name": "refused"} | more)


# ---- by a clock of ours -------------------------------------------------------------------------


class Jobs:
    """Pipeline jobs that only note that they were created."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.made: list[str] = []

    def check(self, parent: str, body: Any) -> None: ...

    def create(self, parent: str, body: Any, chosen: str, *, schedule: str) -> dict[str, str]:
        name = f"{parent}/pipelineJobs/{len(self.made)}"
        self.made.append(name)
        document = {"name": name, "scheduleName": schedule, "state": "PIPELINE_STATE_RUNNING"}
        self.records.put("vertex-pipeline", name, document)
        return document


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(Records(tmp_path / "records.db"))


def hourly(jobs: Jobs, monkeypatch: pytest.MonkeyPatch, **more: Any) -> tuple[Schedules, str]:
    """A schedule that was made at noon, and its name."""
    monkeypatch.setattr(time, "time", lambda: NOON)
    schedules = Schedules(jobs)  # type: ignore[arg-type]
    request = {"parent": PARENT, "pipelineJob": {"displayName": "x"}}
    body = {
        "displayName": "hourly",
        "cron": "0 * * * *",
        "maxConcurrentRunCount": "1",
        "createPipelineJobRequest": request,
        **more,
    }
    return schedules, schedules.create(PARENT, body)["name"]


def later(hours: float) -> str:
    at = datetime.fromtimestamp(NOON, UTC) + timedelta(hours=hours)
    return at.isoformat().replace("+00:00", "Z")


def test_a_run_begins_when_it_is_due(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    schedules, _ = hourly(jobs, monkeypatch)
    assert schedules.begin_due(NOON + 60) == HOUR - 60
    assert jobs.made == []
    assert schedules.begin_due(NOON + HOUR) == HOUR
    assert len(jobs.made) == 1
    # The local cloud did not run for five hours: one run, late, and on with the next hour.
    assert schedules.begin_due(NOON + 6.5 * HOUR) == HOUR / 2
    assert len(jobs.made) == 2


def test_a_schedule_ends_at_its_time(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    schedules, name = hourly(jobs, monkeypatch, startTime=later(2.5), endTime=later(4.5))
    for hours in range(8):
        schedules.begin_due(NOON + hours * HOUR)
    assert len(jobs.made) == 2
    assert schedules.get(name)["state"] == "COMPLETED"


def test_missed_runs_are_made_up_for_on_request(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedules, name = hourly(jobs, monkeypatch)
    schedules.pause(name)
    assert schedules.begin_due(NOON + 3 * HOUR) is None
    schedules.resume(name, {"catchUp": True})
    schedules.begin_due(NOON + 3 * HOUR)
    assert len(jobs.made) == 3


def test_others_have_their_turn_while_many_missed_runs_are_made_up_for(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedules, name = hourly(jobs, monkeypatch)
    schedules.pause(name)
    schedules.resume(name, {"catchUp": True})
    counts = []
    while schedules.begin_due(NOON + 24.5 * HOUR) == 0.0:
        counts.append(len(jobs.made))
    assert (counts, len(jobs.made)) == ([10, 20], 24)


@pytest.mark.parametrize(("queueing", "count"), [(False, 1), (True, 2)])
def test_so_many_runs_are_active_and_others_wait_or_are_left_out(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, queueing: bool, count: int
) -> None:
    schedules, _ = hourly(
        jobs, monkeypatch, maxConcurrentActiveRunCount="1", allowQueueing=queueing
    )
    for hours in (1, 2):
        schedules.begin_due(NOON + hours * HOUR)
    assert len(jobs.made) == 1
    name = jobs.made[0]
    jobs.records.put("vertex-pipeline", name, {"state": "PIPELINE_STATE_SUCCEEDED"})
    schedules.begin_due(NOON + 2 * HOUR + 1)
    assert len(jobs.made) == count
