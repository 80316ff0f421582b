"""Which job is meant: by a run, a study, or a name."""

from __future__ import annotations

from typing import Any

from lesson import LessonError
from lesson.jobs.runs import Run


def job_in(run_or_job: Any) -> Any:
    """Return the SDK's object of a run or a study; anything else, such as a name, unchanged."""
    from lesson.jobs.studies import Study
    from lesson.machines.vm import Rented

    if not isinstance(run_or_job, Run | Study):
        return run_or_job
    if isinstance(run_or_job.job, Rented):
        raise LessonError(f"{run_or_job.job.machine.name} is a machine, not a job")
    if run_or_job.job is None:
        raise LessonError(f"the run on {run_or_job.place} was no job; there is nothing to ask")
    return run_or_job.job


def not_a_job(thing: Any) -> LessonError:
    """Return what to say of something that is neither a run nor a job."""
    return LessonError(
        f"{thing!r} is no job: give what train() or tune() returned, or a job's name"
    )


def no_such_job(name: str) -> LessonError:
    """Return what to say of a name that no job has."""
    return LessonError(f"there is no job {name}; list_jobs() shows the names of all")
