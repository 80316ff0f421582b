"""Schedules: pipeline jobs that begin at the times of a cron expression.

Source: types/schedule.py and types/schedule_service.py of the client library.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from datetime import datetime
from typing import Any

from google.cloud.aiplatform_v1.types import ResumeScheduleRequest, Schedule

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.pipelines.cron import Cron
from local_cloud.google.vertex.pipelines.jobs import ENDED, KIND, PipelineJobs
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.documents import number_project
from local_cloud.google.vertex.resources.schema import parse_message, require, timestamp
from local_cloud.json_types import Json
from local_cloud.store.records import NOT_WRITTEN

OUTPUT_FIELDS = ("startedRunCount", "nextRunTime", "lastPauseTime", "lastResumeTime", "catchUp")
MOST_AT_ONCE = 10  # runs that begin before others have their turn on the loop
RETRY = 1.0  # seconds until a run that has to wait, or could not be recorded, is tried again


class Schedules(Collection):
    """The schedules of pipelines; a task of the server's begins what is due."""

    def __init__(self, jobs: PipelineJobs) -> None:
        """jobs: where runs are created."""
        fixed = (*OUTPUT_FIELDS, "lastScheduledRunResponse", "state")
        kept = ("startTime", "endTime")
        super().__init__(jobs.records, "schedules", Schedule, kept=kept, fixed=fixed)
        self._jobs = jobs
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # ---- the server's -------------------------------------------------------------------------
    def start(self) -> None:
        """Begin to look for what is due; a run that an earlier server has missed begins now."""
        self._task = asyncio.get_running_loop().create_task(self._live())

    async def close(self) -> None:
        """Begin no more runs."""
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _live(self) -> None:
        while True:
            self._changed.clear()
            try:
                wait = self.begin_due(time.time())
            except NOT_WRITTEN as problem:
                logging.getLogger(__name__).error("schedules wait: %s", problem)
                wait = RETRY
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), wait)

    # ---- requests -------------------------------------------------------------------------------
    def create(self, parent: str, body: Json, chosen: str = "", **more: Any) -> Json:
        """Check and record a schedule, and plan its first run."""
        with self.records.transaction():
            schedule = super().create(parent, body, chosen, state="ACTIVE", **more)
            for field in (*OUTPUT_FIELDS, "lastScheduledRunResponse"):
                schedule.pop(field, None)
            schedule.setdefault("startTime", schedule["createTime"])
            self._check(schedule)
            self._plan(schedule, time.time())
        return schedule

    def patch(self, name: str, body: Json, mask: str) -> Json:
        """Change a schedule; its next run follows from now."""
        with self.records.transaction():
            schedule = super().patch(name, body, mask)
            self._check(schedule)
            if schedule["state"] == "ACTIVE":
                self._plan(schedule, time.time())
        return schedule

    def pause(self, name: str) -> None:
        """:pause: begin no more runs."""
        with self.records.transaction():
            schedule = self._in_state(name, "ACTIVE")
            now = timestamp(time.time())
            self._put(schedule | {"state": "PAUSED", "lastPauseTime": now})

    def resume(self, name: str, body: Json) -> None:
        """:resume: begin runs again, with catchUp also those that were missed."""
        request = parse_message(ResumeScheduleRequest, body | {"name": name})
        with self.records.transaction():
            schedule = self._in_state(name, "PAUSED")
            now = time.time()
            schedule |= {"state": "ACTIVE", "lastResumeTime": timestamp(now)}
            schedule["catchUp"] = request.get("catchUp", False)
            if schedule["catchUp"]:
                self._put(schedule)
            else:
                self._plan(schedule, now)

    def _in_state(self, name: str, state: str) -> Json:
        schedule = self.get(name)
        if schedule["state"] != state:
            raise ApiError("FAILED_PRECONDITION", f"{name} is {schedule['state']}, not {state}.")
        return schedule

    def _check(self, schedule: Json) -> None:
        """Refuse a schedule whose runs could not begin."""
        Cron.of(schedule.get("cron", ""))
        count = int(schedule.get("maxConcurrentRunCount", 0))
        require(count >= 1, f"schedule.maxConcurrentRunCount: {count}; at least 1")
        for field in ("maxRunCount", "maxConcurrentActiveRunCount"):
            most = int(schedule.get(field, 1))
            require(most >= 1, f"schedule.{field}: {most}; at least 1")
        end = schedule.get("endTime")
        require(
            not end or _seconds(end) > _seconds(schedule["startTime"]),
            f"schedule.endTime: {end} is not after startTime",
        )
        if "createPipelineJobRequest" not in schedule:
            raise ApiError(
                "UNIMPLEMENTED",
                "not implemented in the local cloud: schedules without createPipelineJobRequest",
            )
        request = schedule["createPipelineJobRequest"]
        parent = number_project(request.get("parent", ""))
        location = schedule["name"].partition("/schedules/")[0]
        require(
            parent == location, f"schedule.createPipelineJobRequest.parent: {parent!r} is another"
        )
        self._jobs.check(parent, request.get("pipelineJob", {}))

    # ---- runs -----------------------------------------------------------------------------------
    def begin_due(self, now: float) -> float | None:
        """Begin runs that are due; return for how many seconds there are none.

        A schedule that has missed many begins some of them; 0 is for the rest.
        """
        waits, begun = [], 0
        for _, schedule in list(self.records.list(self.kind)):
            while schedule["state"] == "ACTIVE":
                if begun == MOST_AT_ONCE:
                    return 0.0
                wait = _seconds(schedule["nextRunTime"]) - now
                if wait <= 0 and self._is_full(schedule):
                    if schedule.get("allowQueueing"):
                        waits.append(RETRY)
                        break
                    schedule = self._plan(schedule, now)
                elif wait <= 0:
                    schedule = self._begin(schedule, now)
                    begun += 1
                else:
                    waits.append(wait)
                    break
        return min(waits, default=None)

    def _is_full(self, schedule: Json) -> bool:
        """Return whether as many of its runs are active as there may be."""
        most = int(schedule.get("maxConcurrentActiveRunCount", 0))
        if not most:
            return False
        active = [
            job
            for _, job in self.records.list(KIND, f"{_location(schedule)}/pipelineJobs/")
            if job.get("scheduleName") == schedule["name"] and job["state"] not in ENDED
        ]
        return len(active) >= most

    def _begin(self, schedule: Json, now: float) -> Json:
        """Create the pipeline job that is due, and plan the next one."""
        request = schedule["createPipelineJobRequest"]
        due = schedule["nextRunTime"]
        with self.records.transaction():
            try:
                body, chosen = request.get("pipelineJob", {}), request.get("pipelineJobId", "")
                job = self._jobs.create(
                    _location(schedule), body, chosen, schedule=schedule["name"]
                )
                response = job["name"]
            except ApiError as problem:  # what it needs has gone, or an id is there already
                response = str(problem)
            count = int(schedule.get("startedRunCount", 0)) + 1
            schedule |= {
                "startedRunCount": str(count),
                "lastScheduledRunResponse": {"scheduledRunTime": due, "runResponse": response},
            }
            return self._plan(schedule, _seconds(due) if schedule.get("catchUp") else now)

    def _plan(self, schedule: Json, now: float) -> Json:
        """Record when the next run is due, or that the schedule has completed."""
        begin = _seconds(schedule["startTime"])
        due = Cron.of(schedule["cron"]).after(max(now, begin))
        most = int(schedule.get("maxRunCount", 0))
        is_over = due is None or (most and int(schedule.get("startedRunCount", 0)) >= most)
        if (
            due is None
            or is_over
            or ("endTime" in schedule and due > _seconds(schedule["endTime"]))
        ):
            schedule["state"] = "COMPLETED"
            schedule.pop("nextRunTime", None)
        else:
            schedule["nextRunTime"] = timestamp(due)
        self._put(schedule)
        return schedule

    def _put(self, schedule: Json) -> None:
        schedule["updateTime"] = timestamp(time.time())
        self.records.put(self.kind, schedule["name"], schedule)
        self.records.when_written(self._changed.set)


def _location(schedule: Json) -> str:
    name: str = schedule["name"]
    return name.partition("/schedules/")[0]


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
