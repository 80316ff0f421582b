"""Deleting a job, cut short at a bad moment."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import QueryParams

from local_cloud.engine.spec import Job, NoSuchJob, State
from local_cloud.google.vertex import routes
from local_cloud.google.vertex.parts import Parts
from local_cloud.google.vertex.resources import documents, rest
from local_cloud.google.vertex.resources.resource import Call
from local_cloud.platform import Platform

NAME = "projects/1/locations/l/customJobs/2"


def test_a_job_that_could_not_be_deleted_can_still_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = Platform.of(tmp_path, {})
    job = Job("2", "vertex", 1, State.SUCCEEDED, 0.0)
    platform.records.put("job", "2", job.document())
    platform.records.put("vertex", NAME, {"resource": {"name": NAME}})
    parts = Parts.of(platform)
    kind, _ = routes.training(parts)
    call = Call(NAME, QueryParams(), {})

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    def delete() -> None:
        rest.perform(kind, "delete", kind.methods["delete"], call=call, records=platform.records)

    async def story() -> None:
        await platform.engine.start({})
        with monkeypatch.context() as disk, pytest.raises(OSError):
            disk.setattr(documents, "record_operation", full)
            delete()
        job = parts.training.custom_job(documents.get(platform.records, NAME))
        assert job["state"] == "JOB_STATE_SUCCEEDED"
        delete()
        assert platform.records.get("vertex", NAME) is None
        with pytest.raises(NoSuchJob):
            platform.engine.get("2")
        await platform.close()

    asyncio.run(story())
