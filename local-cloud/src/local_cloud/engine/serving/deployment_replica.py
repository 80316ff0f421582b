"""One served replica: a process that does not end by itself, from its start to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from local_cloud.engine import system
from local_cloud.engine.isolation.network import Network
from local_cloud.engine.logs import job_files, log_timestamps
from local_cloud.engine.processes import control_groups, reaper
from local_cloud.engine.processes.replica import (
    ReplicaContext,
    Started,
    last_lines,
    log_path,
    start,
)
from local_cloud.engine.serving.http_client import Client, HttpRequest, HttpResponse, Lost, TooLong
from local_cloud.engine.serving.spec import ServingPlan

LOOK = 0.05  # seconds between two health checks of a replica that is not ready
CHECK = 10.0  # of one that is
CHECK_SECONDS = 10.0  # for the answer to a health check
UNHEALTHY = 4  # bad health checks, one after the other, after which it gets no traffic


class ServedReplica:
    """A replica's process, the connections to it, and whether it may get requests."""

    def __init__(
        self,
        name: str,
        plan: ServingPlan,
        context: ReplicaContext,
        *,
        network: Network,
        guard: reaper.Reaper,
    ) -> None:
        """context: of the deployment; network: this replica's alone."""
        self.name = name
        self._plan, self._network, self._guard = plan, network, guard
        marks = {**context.marks, "LOCAL_CLOUD_JOB": f"{context.marks['LOCAL_CLOUD_JOB']}/{name}"}
        self._context = replace(context, marks=marks)
        self._client = Client(network.dial)
        self._started: Started | None = None
        self._ended = asyncio.Event()
        self.code: int | None = None  # the exit code
        self.grace = plan.grace
        self.late = False  # it was ended because it was not ready in time
        self.was_ready = False
        self.healthy = False
        self.leaving = False  # gets no new request, and ends after those that it has
        self.active = 0  # requests that it is answering

    @property
    def usable(self) -> bool:
        """Return whether it may get requests."""
        return self.healthy and not self.leaving and not self._ended.is_set()

    async def live(self, changed: Callable[[], None]) -> None:
        """Run from start to end; changed is called when it becomes usable or is no longer."""
        log = log_path(self._context.folder, self.name)
        stamping = asyncio.create_task(log_timestamps.follow([log], self._context.hidden))
        try:
            made = self._plan.replica(self.name, self._network.port)
            self._started = start(made, self._plan.notes, self._context, network=self._network)
            self._guard.add(self._started.process.pid, self._plan.grace)
            system.when_ended(self._started.process, self._note_exit)
            checking = asyncio.create_task(self._check(changed))
            await self._ended.wait()
            checking.cancel()
        finally:
            self._ended.set()
            self.healthy = False
            changed()
            self._client.close()
            await self._clear()
            stamping.cancel()
            await log_timestamps.finish([log], self._context.hidden)

    def _note_exit(self, code: int) -> None:
        self.code = code
        self._ended.set()

    async def _check(self, changed: Callable[[], None]) -> None:
        """Watch the replica's health; end it if it is not ready in time."""
        bad = 0
        try:
            await self._network.confirm_entry()
            async with asyncio.timeout(self._plan.start_seconds):
                while not await self._is_well():
                    await asyncio.sleep(LOOK)
        except (TimeoutError, OSError):
            self.late = True
            self.stop()
            return
        while True:
            bad = 0 if await self._is_well() else bad + 1
            healthy = bad < UNHEALTHY
            if healthy != self.healthy:
                self.healthy, self.was_ready = healthy, True
                changed()
            await asyncio.sleep(CHECK if healthy and not bad else 1.0)

    async def _is_well(self) -> bool:
        try:
            answer = await self._client.send(HttpRequest("GET", self._plan.health), CHECK_SECONDS)
        except (TimeoutError, Lost, TooLong):
            return False
        return answer.status == 200

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Return the replica's response; Client.send says what it raises."""
        self.active += 1
        try:
            return await self._client.send(request, self._plan.answer_seconds)
        finally:
            self.active -= 1

    async def wait_for_end(self, seconds: float) -> None:
        """Wait until its process has ended, at most so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)

    def stop(self) -> None:
        """End it now; live() returns when no process of it is left."""
        self._ended.set()

    def read_last_lines(self) -> tuple[str, ...]:
        """Return the last lines of its log."""
        log = log_path(self._context.folder, self.name)
        return last_lines(log, hidden=self._context.hidden)

    async def _clear(self) -> None:
        if self._started:
            group, marks = self._started.process.pid, reaper.entries(self._context.marks)
            await asyncio.to_thread(reaper.end, (group,), marks, self.grace)
            await asyncio.to_thread(self._started.process.wait)  # the loop may end before it looks
            self._guard.remove(group)
            control_groups.remove(self._context.marks)
            root = self._context.folder.parent
            await asyncio.to_thread(job_files.remove, root, self._started.temporary)
        self._network.close()
