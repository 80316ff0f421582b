"""Which job is meant: by a run, a study, or a name."""

from __future__ import annotations

from typing import Any

from lesson import LessonError
from lesson.jobs.cloud import Cloud
from lesson.jobs.runs import Run
from lesson.jobs.studies import Study
from lesson.machines.vm import RentedMachine


def job_of(cloud: Cloud, run_or_job: Any) -> Any:
    """Return the SDK's object: of a run or study, by a job's name, or as it is given."""
    job = run_or_job
    if isinstance(run_or_job, Run | Study):
        job = _job_in(run_or_job)
    if isinstance(job, str):
        return _find(cloud, job)
    if not cloud.is_job(job):
        raise LessonError(
            f"{job!r} is no job: give what train() or tune() returned, or a job's name"
        )
    return job


def _job_in(run: Run | Study) -> Any:
    if isinstance(run.job, RentedMachine):
        raise LessonError(f"{run.job.machine.name} is a machine, not a job")
    if run.job is None:
        raise LessonError(f"the run on {run.place} was no job; there is nothing to ask")
    return run.job


def _find(cloud: Cloud, name: str) -> Any:
    with cloud.refusals(f"looking for {name}"):
        job = cloud.find(name)
    if job is None:
        raise LessonError(f"there is no job {name}; list_jobs() shows the names of all")
    return job
