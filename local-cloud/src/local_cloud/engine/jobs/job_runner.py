"""Run one job from its turn to its end: its attempts, one after the other, then its results."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from local_cloud.disk_errors import say
from local_cloud.engine import machine
from local_cloud.engine.base import Base
from local_cloud.engine.dialect import TrainingDialect
from local_cloud.engine.isolation import job_network
from local_cloud.engine.isolation.job_network import JobNetwork
from local_cloud.engine.jobs import job_table
from local_cloud.engine.jobs.attempt_runner import AttemptRunner
from local_cloud.engine.jobs.collector import Collector
from local_cloud.engine.jobs.job_space import watch_space
from local_cloud.engine.jobs.job_table import JobTable, with_attempt, with_outcome
from local_cloud.engine.processes.reaper import Reaper
from local_cloud.engine.processes.replica import (
    ReplicaContext,
    build_wheels,
    environment,
    starts_warm,
)
from local_cloud.engine.rehearsals import spot_stop
from local_cloud.engine.rehearsals.failures import Failures
from local_cloud.engine.spec import Attempt, EngineError, Job, Outcome, Plan, State
from local_cloud.engine.warm.warm_start import ForkServer
from local_cloud.store import clock
from local_cloud.store.errors import StoreError
from local_cloud.store.records import NOT_WRITTEN
from local_cloud.store.space import Space

# Whatever interrupts a job here is a rehearsal.
INTERRUPTED = "local cloud: spot stop rehearsed at epoch {}: the replicas were sent SIGTERM"


@dataclass(frozen=True)
class RunnerParts:
    """What the runners of all jobs share."""

    jobs: JobTable
    dialects: Mapping[str, TrainingDialect]
    failures: Failures
    rehearsals: spot_stop.Rehearsals
    reaper: Reaper
    fork_server: ForkServer
    ports: machine.Ports
    space: Space
    door: job_network.Door | None  # how jobs that have a network of their own reach the server
    base: Callable[[str], Base]  # what jobs of an image stand on
    prepare: Callable[[ReplicaContext], Awaitable[None]]  # makes the replicas' environment


class JobRunner:
    """A job that has left the queue."""

    def __init__(self, job: Job, context: ReplicaContext, *, shared: RunnerParts) -> None:
        """context: what the replicas get."""
        self._id, self._context, self._shared = job.id, context, shared
        self._attempt = self._new_attempt(job)
        self._collector: Collector | None = None  # while the results are brought away
        self._importing = 0.0  # seconds that the latest attempt waited for a warm process

    def stop(self, outcome: Outcome) -> bool:
        """End the job like this, or the work on its results; return whether it was not too late."""
        if self._attempt.decide(outcome):
            return True
        if self._collector:
            self._collector.stop(outcome)
            return True
        return False

    def interrupt(self, note: str) -> bool:
        """End the replicas, to run the job again if its plan allows; return whether that happens.

        note: a line for the logs.
        """
        if not self._attempt.interrupt(note):
            return False
        self._update(with_attempt(self._latest(), interrupted=time.time()))
        return True

    async def run(self) -> None:
        """Run the job to its end, in one attempt or several."""
        outcome = await self._run_attempt()
        ran = self._attempt.ran
        while self._attempt.again:
            # Nothing is awaited before the next one is there, for stop() to find.
            job = with_attempt(self._latest(), ended=time.time())
            self._attempt = self._new_attempt(job)
            self._update(replace(job, state=State.STAGING))
            outcome = await self._run_attempt()
        ended = time.time()
        if ran:
            outcome = await self._collect(outcome)
        await asyncio.to_thread(self._context.pythons.remove)
        self._shared.rehearsals.forget(self._id)
        self._update(with_outcome(with_attempt(self._latest(), ended=ended), outcome))

    def _new_attempt(self, job: Job) -> AttemptRunner:
        """Return the next attempt; several replicas get a network that they share."""
        is_apart = job.size > 1 and job_network.available()
        network = JobNetwork(self._shared.door) if is_apart else None
        return AttemptRunner(job, self._context, self._shared.reaper, network=network)

    async def _run_attempt(self) -> Outcome:
        """Run the job once, with ports of its own."""
        attempt, ports = self._attempt, set[int]()
        watching: list[asyncio.Task[None]] = []

        def port() -> int:
            ports.add(fresh := self._shared.ports.take())
            return fresh

        async def stage() -> Plan:
            return await self._stage(port)

        def running() -> None:
            self._note_start()
            space = watch_space(attempt, self._context.folder, self._shared.space)
            watching.append(asyncio.create_task(space))
            if reader := attempt.reader():
                watching.append(asyncio.create_task(self._watch(attempt, reader)))

        try:
            return await attempt.live(stage, running)
        finally:
            for task in watching:
                task.cancel()
            self._shared.ports.give_back(ports)

    async def _stage(self, port: Callable[[], int]) -> Plan:
        """Have the dialect bring the inputs and say what to run; make what that needs."""
        job, context, shared = self._latest(), self._context, self._shared
        if job.attempts[-1].ended:
            attempt = Attempt(clock.now_after(job.attempts[-1].ended))
            job = replace(job, attempts=(*job.attempts, attempt))
            self._update(job)
        await shared.prepare(context)
        dialect = shared.dialects[job.dialect]
        stage = functools.partial(dialect.stage, job.id, context.of_job(port))
        plan = await asyncio.to_thread(shared.failures.stage_job, job, stage)
        return await self._choose_starts(plan)

    async def _choose_starts(self, plan: Plan) -> Plan:
        """Return the plan with the replicas that start warm; have a process that forks them."""
        began, context = time.monotonic(), self._context
        replicas = await asyncio.to_thread(
            lambda: tuple(replace(one, warm=starts_warm(one, context)) for one in plan.replicas)
        )
        await asyncio.to_thread(build_wheels, plan, context)
        if first := next((one for one in replicas if one.warm), None):
            await self._shared.fork_server.ready(environment(first, context, str(context.folder)))
        self._importing = time.monotonic() - began
        return replace(plan, replicas=replicas)

    async def _watch(self, attempt: AttemptRunner, reader: spot_stop.Reader) -> None:
        """Interrupt the job as soon as its log gets to an epoch at which it is to be."""
        while attempt.reader():
            more = await asyncio.to_thread(reader.news)
            await asyncio.sleep(0 if more else spot_stop.PERIOD)
            epoch = self._shared.rehearsals.find_due_epoch(self._id, reader.epoch)
            if epoch is None or not attempt.reader():
                continue
            try:
                self._shared.rehearsals.use(self._id)  # first on the disk, then done
            except NOT_WRITTEN:
                await asyncio.sleep(job_table.RETRY)
                continue
            self.interrupt(INTERRUPTED.format(epoch))

    def _note_start(self) -> None:
        """Record that the replicas run, and ran while torch was imported for them."""
        job = with_attempt(self._latest(), started=time.time() - self._importing)
        job = replace(job, started=job.started or job.attempts[-1].started)
        if job.state is State.STAGING:
            job = replace(job, state=State.RUNNING)
        self._update(job)

    async def _collect(self, outcome: Outcome) -> Outcome:
        """Let the dialect take the results; a success that cannot be taken away is none."""
        final = with_outcome(self._latest(), outcome)
        self._collector = Collector()
        try:
            return await self._collector.run(self._shared.dialects[final.dialect].collect, final)
        except (EngineError, StoreError, *NOT_WRITTEN) as problem:
            if outcome.state is State.SUCCEEDED:
                return replace(outcome, state=State.FAILED, reason="collect", message=say(problem))
            logging.getLogger(__name__).error("job %s: collecting failed: %s", self._id, problem)
            return outcome
        finally:
            self._collector = None

    def _latest(self) -> Job:
        return self._shared.jobs.latest(self._id)

    def _update(self, job: Job) -> None:
        self._shared.jobs.update(job)
