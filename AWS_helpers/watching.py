"""Look at a job and its log until it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from AWS_helpers import describe
from AWS_helpers.describe import Log
from lesson.jobs import Epoch, JobStatus, epoch_of
from lesson.states import ENDED
from lesson.watching import pause

if TYPE_CHECKING:
    from sagemaker.core.resources import TrainingJob


def watch(job: TrainingJob) -> Iterator[tuple[JobStatus, Epoch | None]]:
    """Yield what each look at a job shows until it has ended; the log is read last, to be whole."""
    log, epoch = Log(job.training_job_name), None
    while True:
        describe.refresh(job)
        now = describe.status(job)
        epoch = last_epoch(log.news()) or epoch
        yield now, epoch
        if now.state in ENDED:
            return
        pause()


def last_epoch(lines: list[str]) -> Epoch | None:
    """Return the newest epoch that the lines tell of."""
    return next(filter(None, map(epoch_of, reversed(lines))), None)
