"""Failures that are rehearsed: kept until something meets them, then beside what has met them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, TypeVar

from local_cloud.client.failures import (
    FAILURES,
    JOB,
    LOST_WORKER,
    MEMORY,
    NEVER_HEALTHY,
    SLOW,
    WRONG_METRIC,
)
from local_cloud.engine.serving.spec import ServingPlan
from local_cloud.engine.spec import EngineError, Job, JobRefused, Kill, Plan
from local_cloud.store.records import Records

WAITING = "rehearsed-failure"  # those that nothing has met yet
MET = "met-failure"  # by the id of the job, study or deployment
# Seconds until the machines of a real training job had started, from "Starting" at 12:04:45 to
# "Downloading" at 12:06:59: https://github.com/aws/sagemaker-python-sdk/issues/1968 (2020-10-23).
# No dated log of Vertex AI was found that shows as much.
PROVISIONING = 134.0
LONGEST_WAIT = 3600.0
KILLED_AFTER = 0.5  # seconds for which a replica runs before it is killed
KILLED = {MEMORY: "memory", LOST_WORKER: "machine"}  # the outcome's reason, by the failure
UNHEALTHY = "/rehearsed-failure"  # no server has this path
UNHEALTHY_SECONDS = 3.0
NOTE = "local cloud: rehearsed failure: {}"  # a line of the log

T = TypeVar("T")


@dataclass(frozen=True)
class Rehearsed:
    """A failure, and what is to meet it."""

    failure: str
    name: str = ""  # of the job, tuning job or endpoint; "": of any
    every: bool = False  # all that are sent, until it is taken back
    seconds: float | None = None  # of slow provisioning; None: as long as the service takes

    def is_for(self, name: str, among: Collection[str]) -> bool:
        """Return whether something of this name meets it, if that can meet these failures."""
        return self.failure in among and self.name in ("", name)


def parse_failure(document: dict[str, Any]) -> Rehearsed:
    """Check what a request wants to be rehearsed; EngineError if that cannot be."""
    try:
        wanted = Rehearsed(**document)
    except TypeError:
        raise EngineError("a rehearsal has a failure, and may have name, every, seconds") from None
    seconds = wanted.seconds
    if wanted.failure not in FAILURES:
        raise EngineError(f"{wanted.failure!r} is none of {', '.join(FAILURES)}")
    if not isinstance(wanted.name, str) or not isinstance(wanted.every, bool):
        raise EngineError("name is a text and every is true or false")
    if seconds is None:
        return wanted
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise EngineError("seconds is a number")
    if not 0 <= seconds <= LONGEST_WAIT:
        raise EngineError(f"seconds: from 0 to {LONGEST_WAIT:g}")
    return wanted


class FailureDialect(Protocol):
    """What the engine asks of a cloud about what is rehearsed."""

    def candidates(self, kind: str, key: str) -> tuple[str, Collection[str]]:
        """Return the name of a job, tuning job or deployment, and the failures that it can meet.

        kind: JOB, STUDY or DEPLOYMENT; key: its id. It is on record when this is called, at least
        in the transaction that submits it.
        """

    def problem(self, failure: str, job_id: str) -> Exception | None:
        """Return how a job fails before it runs; None: it runs.

        JobRefused: it is taken, and fails when it starts. Another exception: the request is
        refused.
        """


class Failures:
    """All that is to be rehearsed and all that was; on the disk.

    What is submitted passes submit(), and what starts passes stage_job() or stage_deployment().
    """

    def __init__(self, records: Records) -> None:
        """Read and write these records."""
        self._records = records
        self._dialects: Mapping[str, FailureDialect] = {}

    def start(self, dialects: Mapping[str, FailureDialect]) -> None:
        """Take the clouds that rehearse failures, by the names under which they submit."""
        self._dialects = dialects

    def submit(self, kind: str, dialect: str, key: str) -> None:
        """Let what is submitted meet a failure, if one waits for it; raises the cloud's refusal."""
        cloud = self._dialects.get(dialect)
        waiting = [one for one in self.list_waiting() if FAILURES[one.failure].meets == kind]
        if not cloud or not waiting:
            return
        name, among = cloud.candidates(kind, key)
        met = next((one for one in waiting if one.is_for(name, among)), None)
        if met is None:
            return
        problem = cloud.problem(met.failure, key) if kind == JOB else None
        if problem and not isinstance(problem, JobRefused):
            # The transaction is rolled back, and the failure is used up all the same.
            self._records.at_end(lambda: self.meet((met.failure,), name))
            raise problem
        self.meet((met.failure,), name, key)

    def stage_job(self, job: Job, stage: Callable[[], Plan]) -> Plan:
        """Return the plan of an attempt; the first one has the failure that the job has met.

        Raises JobRefused if the job fails before it runs.
        """
        met = self.of(job.id)
        if met is None or len(job.attempts) > 1:
            return stage()
        cloud = self._dialects.get(job.dialect)
        if cloud and (problem := cloud.problem(met.failure, job.id)):
            raise problem
        return _with_failure(stage(), met)

    def stage_deployment(self, plan: ServingPlan, deployment_id: str) -> ServingPlan:
        """Return how a deployment is served: one that is never healthy waits on a wrong path."""
        if not self.is_met(NEVER_HEALTHY, deployment_id):
            return plan
        note = NOTE.format(NEVER_HEALTHY)
        return replace(
            plan, health=UNHEALTHY, start_seconds=UNHEALTHY_SECONDS, notes=(*plan.notes, note)
        )

    def rename_metric(
        self, study_id: str, values: dict[str, T], *, metric: str, another: str
    ) -> dict[str, T]:
        """Return a trial's values by metric, as if the script had another name for this one.

        So they are if the study has met that failure; else as they were.
        """
        if not self.is_met(WRONG_METRIC, study_id):
            return values
        return {another if name == metric else name: value for name, value in values.items()}

    def add(self, wanted: Rehearsed) -> None:
        """Have it met by what comes next."""
        self._records.put(WAITING, f"{time.time_ns():020}", asdict(wanted))

    def list_waiting(self) -> list[Rehearsed]:
        """Return what nothing has met yet, the oldest first."""
        return [Rehearsed(**document) for _, document in self._records.list(WAITING)]

    def clear(self) -> bool:
        """Take all of them back; whether there were any."""
        had_some = bool(self.list_waiting())
        self._records.clear(WAITING)
        return had_some

    def meet(self, among: Collection[str], name: str, key: str = "") -> Rehearsed | None:
        """Return which failure of these something of this name meets now, if any.

        key: the id under which of() finds it later. Each is met once, except those for all.
        """
        for place, document in self._records.list(WAITING):
            wanted = Rehearsed(**document)
            if not wanted.is_for(name, among):
                continue
            with self._records.transaction():
                if not wanted.every:
                    self._records.delete(WAITING, place)
                if key:
                    self._records.put(MET, key, asdict(wanted))
            return wanted
        return None

    def of(self, key: str) -> Rehearsed | None:
        """Return the failure that this job, study or deployment has met; None: it has not."""
        document = self._records.get(MET, key)
        return Rehearsed(**document) if document else None

    def is_met(self, failure: str, key: str) -> bool:
        """Return whether this job, study or deployment has met this failure."""
        met = self.of(key)
        return met is not None and met.failure == failure

    def forget(self, key: str) -> None:
        """Forget what was met by something that is deleted."""
        self._records.delete(MET, key)


def _with_failure(plan: Plan, met: Rehearsed) -> Plan:
    """Return a plan in which the machines take their time, or a replica is killed."""
    plan = replace(plan, notes=(*plan.notes, NOTE.format(met.failure)))
    if met.failure == SLOW:
        return replace(plan, delay=PROVISIONING if met.seconds is None else met.seconds)
    if met.failure in KILLED:
        victim = 0 if met.failure == MEMORY else len(plan.replicas) - 1
        return replace(plan, kill=Kill(victim, KILLED_AFTER, KILLED[met.failure]))
    return plan
