"""Failures that are rehearsed: kept until something meets them, then beside what has met them."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from local_cloud.client.failures import FAILURES, MEMORY, NEVER_HEALTHY
from local_cloud.engine.serving.spec import ServingPlan
from local_cloud.engine.spec import EngineError
from local_cloud.store.records import Records

WAITING = "rehearsed-failure"  # those that nothing has met yet
MET = "met-failure"  # by the id of the job, study or deployment
# Seconds until the machines of a real training job had started, from "Starting" at 12:04:45 to
# "Downloading" at 12:06:59: https://github.com/aws/sagemaker-python-sdk/issues/1968 (2020-10-23).
# No dated log of Vertex AI was found that shows as much.
PROVISIONING = 134.0
LONGEST_WAIT = 3600.0
KILLED_AFTER = 0.5  # seconds for which a replica runs before it is killed
UNHEALTHY = "/rehearsed-failure"  # no server has this path
UNHEALTHY_SECONDS = 3.0
NOTE = "local cloud: rehearsed failure: {}"  # a line of the log


@dataclass(frozen=True)
class Rehearsed:
    """A failure, and what is to meet it."""

    failure: str
    name: str = ""  # of the job, tuning job or endpoint; "": of any
    every: bool = False  # all that are sent, until it is taken back
    seconds: float | None = None  # of slow provisioning; None: as long as the service takes


def checked(document: dict[str, Any]) -> Rehearsed:
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


class Failures:
    """All that is to be rehearsed and all that was; on the disk."""

    def __init__(self, records: Records) -> None:
        """Read and write these records."""
        self._records = records

    def add(self, wanted: Rehearsed) -> None:
        """Have it met by what comes next."""
        self._records.put(WAITING, f"{time.time_ns():020}", asdict(wanted))

    def waiting(self) -> list[Rehearsed]:
        """Return what nothing has met yet, the oldest first."""
        return [Rehearsed(**document) for _, document in self._records.list(WAITING)]

    def clear(self) -> bool:
        """Take all of them back; whether there were any."""
        found = bool(self.waiting())
        self._records.clear(WAITING)
        return found

    def meet(self, among: tuple[str, ...], name: str, key: str = "") -> Rehearsed | None:
        """Return which failure of these something of this name meets now, if any.

        key: the id under which of() finds it later. Each is met once, except those for all.
        """
        for place, document in self._records.list(WAITING):
            wanted = Rehearsed(**document)
            if wanted.failure not in among or wanted.name not in ("", name):
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
        found = self._records.get(MET, key)
        return Rehearsed(**found) if found else None

    def is_met(self, failure: str, key: str) -> bool:
        """Return whether this job, study or deployment has met this failure."""
        met = self.of(key)
        return met is not None and met.failure == failure

    def forget(self, key: str) -> None:
        """Forget what was met by something that is deleted."""
        self._records.delete(MET, key)

    def plan(self, plan: ServingPlan, deployment_id: str) -> ServingPlan:
        """Return how a deployment is served: one that is never healthy waits on a wrong path."""
        if not self.is_met(NEVER_HEALTHY, deployment_id):
            return plan
        note = NOTE.format(NEVER_HEALTHY)
        return replace(
            plan, health=UNHEALTHY, start_seconds=UNHEALTHY_SECONDS, notes=(*plan.notes, note)
        )


def victim(failure: str, size: int) -> int:
    """Return the index of the replica that is killed: the first, or the last of several."""
    return 0 if failure == MEMORY else size - 1
