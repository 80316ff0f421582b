"""Deleting a job, cut short at a bad moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from local_cloud.engine.engine import Engine
from local_cloud.engine.spec import Job, State
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records
from local_cloud.vertex import Training, resources

NAME = "projects/1/locations/l/customJobs/2"


class OneJob:
    """An engine with one job, which has ended."""

    def __init__(self) -> None:
        self.jobs = {"2": Job("2", "vertex", 1, State.SUCCEEDED, 0.0)}

    def get(self, job_id: str) -> Job:
        return self.jobs[job_id]

    def delete(self, job_id: str) -> None:
        del self.jobs[job_id]


def test_a_job_that_could_not_be_deleted_can_still_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = Records(tmp_path / "records")
    training = Training(records, Objects(tmp_path / "buckets", records), {})
    training.engine = cast(Engine, OneJob())
    records.put("vertex", NAME, {"resource": {"name": NAME}})

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk, pytest.raises(OSError):
        disk.setattr(resources, "done", full)
        training.delete(resources.get(records, NAME))
    assert training.custom_job(resources.get(records, NAME))["state"] == "JOB_STATE_SUCCEEDED"
    training.delete(resources.get(records, NAME))
    assert records.get("vertex", NAME) is None
    records.close()
