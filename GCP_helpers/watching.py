"""Look at a job until it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from GCP_helpers import describe
from GCP_helpers.storage import read_text
from lesson.jobs import Epoch, JobStatus
from lesson.states import ENDED, RUNNING, STARTING
from lesson.watching import pause

if TYPE_CHECKING:
    from GCP_helpers.describe import Job


class Stops:
    """Counts how often a job that ran had to wait for machines again: the service does not say.

    It says when a job first ran: one that waits and has that time was stopped, perhaps unseen.
    """

    def __init__(self) -> None:
        """None so far."""
        self.count = 0
        self._ran = False

    def seen(self, state: str, started: bool = False) -> int:
        """Return how many there were, now that the job is in this state; started: it has run."""
        unseen = started and not self.count
        self.count += state == STARTING and (self._ran or unseen)
        self._ran = state == RUNNING or (self._ran and state != STARTING)
        return self.count


def watch(job: Job) -> Iterator[tuple[JobStatus, Epoch | None]]:
    """Yield what each look at a job shows, of its machines first, until it has ended."""
    output, stops = describe.spec(job).output, Stops()

    def look(at: Job) -> tuple[JobStatus, Epoch | None]:
        now = describe.status(at)
        started = bool(now.times.started)
        count = stops.seen(now.state, started)
        return replace(now, interruptions=count), last_epoch(output) if started and output else None

    yield describe.status(job), None
    machines = describe.backing_job(job)
    while describe.is_pipeline(machines) and not _has_ended(job):
        yield look(job)
        pause()
        machines = describe.backing_job(job)
    for each in (machines, job):
        while not _has_ended(each):
            yield look(machines)
            pause()
    yield look(machines)


def _has_ended(job: Job) -> bool:
    describe.refresh(job)
    return describe.status(job).state in ENDED


def last_epoch(output: str) -> Epoch | None:
    """Return the newest epoch in the results that a job is writing; None before the first."""
    row = describe.last_row(read_text(output + "history.csv") or "")
    if not row:
        return None
    return Epoch(int(row["epoch"]), float(row["val_loss"]), float(row["val_accuracy"]))
