"""Exercises that are answered by a job: the service's record of it is judged, nothing typed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from lesson.exercises import Exercise
from lesson.jobs.cloud import Cloud
from lesson.jobs.runs import Run
from lesson.jobs.spec import JobSpec, JobStatus
from lesson.jobs.states import CANCELLED, CANCELLING, ENDED, FAILED, SUCCEEDED
from lesson.jobs.studies import Study

NO_JOB = "the answer is a job: what train() returned, or the SDK's object that has sent it."
LONG = 10_000  # epochs of a training that does not end while you look


class Service(Protocol):
    """A helper's `describe`, as a notebook hands it to the check of an exercise."""

    def cloud(self) -> Cloud:
        """Return the service, as connect() has set it up."""


@dataclass(frozen=True)
class Record:
    """What a service says of a job: what it was asked to do, how far it is, why it failed."""

    answer: Any  # what the learner gave: a run, a study, or the SDK's own object
    job: Any  # the SDK's own object
    spec: JobSpec
    status: JobStatus
    reason: str

    @property
    def epochs(self) -> float:
        """Return the epochs that it was told to train; 0 if there is no such number."""
        given = str(self.spec.flags.get("epochs", "0"))
        return float(given) if given.replace(".", "", 1).isdigit() else 0.0


def job_to_send(judge: Callable[[Record], str], praise: str, advice: str) -> Exercise:
    """Make an exercise of a job that the learner sends; `judge` says what is wrong with its record.

    The cell hands the cloud's describe.py to check(), which asks the service.
    """

    def look(answer: Any, service: Service) -> str:
        if not hasattr(service, "cloud"):
            return "hand service to check(), as the cell of the exercise does."
        job = answer.job if isinstance(answer, Run | Study) else answer
        cloud = service.cloud()
        try:
            if not cloud.is_job(job):
                return NO_JOB
            with cloud.refusals("asking for the job"):
                cloud.refresh(job)
                return judge(_record(answer, job, cloud))
        except RuntimeError:  # Vertex AI's SDK, of an object that has sent nothing
            return "this job has not been sent yet."

    return Exercise(object, look, praise, advice, kind="send")


def _record(answer: Any, job: Any, cloud: Cloud) -> Record:
    status, reason = cloud.status(job), ""
    if status.state == FAILED:
        reason = cloud.failure_reason(cloud.backing_job(job))
    return Record(answer, job, cloud.spec(job), status, reason)


def not_succeeded(record: Record) -> str:
    """Say what keeps a job from having succeeded; nothing if it has."""
    match record.status.state:
        case state if state == SUCCEEDED:
            return ""
        case state if state == FAILED:
            return f"it has failed. {record.reason}"
        case state if state in (CANCELLED, CANCELLING):
            return "it was cancelled before it had ended."
    return "it has not ended yet: wait for its end, and run this cell again."


def not_cancelled(record: Record) -> str:
    """Say what keeps a long job from having been cancelled by hand; nothing if it was."""
    state = record.status.state
    if record.epochs < LONG:
        return f"it was to train for {record.epochs:.0f} epochs, which end too soon: send more."
    if state not in ENDED and state != CANCELLING:
        return f"it is {state}, and costs money until you cancel it."
    if state == CANCELLING:
        return "it is being cancelled: wait a moment, and run this cell again."
    if state == FAILED:
        return f"it has failed. {record.reason}"
    if state == SUCCEEDED:
        return "it has trained to its end; with patience 0 it would not have stopped early."
    if not record.status.times.machine_seconds():
        return "it was cancelled before its machines had started: wait until it runs."
    return ""
