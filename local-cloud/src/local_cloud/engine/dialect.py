"""What a cloud gives the engine: how its jobs are run, and how its studies' trials are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from local_cloud.engine.rehearsals.failures import FailureDialect
from local_cloud.engine.serving.spec import ServingDialect
from local_cloud.engine.spec import Job, JobContext, Plan
from local_cloud.engine.studies.early_stopping import Curve
from local_cloud.engine.studies.search import Value
from local_cloud.engine.studies.spec import Study


class TrainingDialect(Protocol):
    """What the engine asks of a cloud about its jobs; both methods are called in a thread."""

    def stage(self, job_id: str, context: JobContext) -> Plan:
        """Bring the inputs and say what to run; JobRefused fails the job with its sentence."""

    def collect(self, job: Job) -> None:
        """Take the results away; job is as it will be seen as soon as this returns.

        Called once the replicas have ended, whatever the outcome; not for a job that never
        started one, nor for one that the server's own end cut off.
        """


class TuningDialect(Protocol):
    """What the engine asks of a cloud about its studies, whose trials are jobs."""

    def send(self, study: Study, number: int, values: Mapping[str, Value]) -> str:
        """Queue the job of a trial, the first of which has number 1; returns the job's id."""

    def judge(self, study: Study, number: int, job: Job) -> float | str:
        """Return the result of a trial whose job has ended, or why there is none.

        This is called in a thread.
        """

    def reports(self, study: Study, number: int, job: Job) -> Curve:
        """Return what a trial has reported so far, as (step, value); called in a thread."""


@dataclass(frozen=True)
class Dialect:
    """All of them, under the name by which jobs, studies and deployments are on record."""

    name: str
    training: TrainingDialect
    tuning: TuningDialect
    serving: ServingDialect | None = None
    other_jobs: Mapping[str, TrainingDialect] = field(default_factory=dict)  # under further names
    failures: FailureDialect | None = None

    @property
    def jobs(self) -> dict[str, TrainingDialect]:
        """Return what runs each kind of its jobs, by the name under which they are on record."""
        return {self.name: self.training, **self.other_jobs}
