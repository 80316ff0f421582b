"""Wait for a job of Vertex AI: show how far it is until it ends, and fetch its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from GCP_helpers import describe, storage, trials
from GCP_helpers.costs import estimate_cost
from GCP_helpers.session import connected, refusals
from GCP_helpers.watching import watch
from lesson import LessonError, jobs, target, tuning, watching
from lesson.costs import Estimate
from lesson.jobs import JobSpec
from lesson.runs import Run
from lesson.states import CANCELLED, SUCCEEDED
from lesson.studies import Study
from lesson.this_machine import new_folder
from lesson.vm import Rented

if TYPE_CHECKING:
    from GCP_helpers.describe import Job, Tuning


@overload
def wait(run_or_job: Run) -> Run: ...
@overload
def wait(run_or_job: Study) -> Study: ...
@overload
def wait(run_or_job: Any) -> Any: ...
def wait(run_or_job: Any) -> Run | Study:
    """Show how far a job is until it ends, and fetch its results; return the completed run.

    Takes what train() or train_on_vm() returned, an SDK object, or a job's name; of what tune()
    returned, or a tuning job, it shows the trials and returns the study. Interrupting it leaves
    the job running; call it again to watch the job again. Raises LessonError if the job fails.
    """
    connected()
    if isinstance(run_or_job, Run) and isinstance(run_or_job.job, Rented):
        return run_or_job.job.wait(run_or_job)
    job = job_of(run_or_job)
    if describe.is_tuning(job):
        return follow_study(job, run_or_job.request if isinstance(run_or_job, Study) else {})
    return follow(run_or_job if isinstance(run_or_job, Run) else run_of(job, {}))


def job_of(run_or_job: Any) -> Job:
    """Return the SDK's object: of a run or study, by a job's name, or as it is given."""
    job = watching.job_in(run_or_job)
    if isinstance(job, str):
        return describe.named(job)
    if not describe.is_job(job):
        raise watching.not_a_job(job)
    found: Job = job
    return found


def run_of(job: Job, request: Mapping[str, Any]) -> Run:
    """Return the row of a job that has not ended."""
    return watching.row(describe.SERVICE, describe.spec(job), job, request)


def follow(run: Run) -> Run:
    """Show how far a run's job is until it ends, and complete its row."""
    spec = describe.spec(run.job)
    with refusals(f"watching {spec.name}"):
        count = watching.follow(spec, watch(run.job), partial(estimate, spec))
    return complete(replace(run, interruptions=max(run.interruptions, count)))


def complete(run: Run) -> Run:
    """Return the row of a job that has ended, with its results; LessonError if it failed."""
    spec, now = describe.spec(run.job), describe.status(run.job)
    with refusals(f"reading how {spec.name} ended"):
        machines = describe.backing_job(run.job)
        times = describe.status(machines).times
        if now.state not in (SUCCEEDED, CANCELLED):
            raise LessonError(f"{spec.name} {now.state}. {describe.failure_reason(machines)}")
    run = watching.row_of_ended(run, spec, now, times, partial(estimate, spec))
    if now.state == CANCELLED or not run.artefacts:
        return run
    copy = storage.fetch(run.artefacts, new_folder("vertex-ai"))
    return jobs.with_results(run, spec.name, times, copy)


def estimate(spec: JobSpec, hours: float) -> Estimate:
    """Return what a job's machines cost in the session's region."""
    return estimate_cost(
        spec.machine,
        spec.gpu,
        spec.replicas,
        hours,
        gpu_count=spec.gpu_count or 1,
        region=connected().region,
    )


# ---- a study, whose trials are jobs --------------------------------------------------------------
def study_of(job: Tuning, request: Mapping[str, Any]) -> Study:
    """Return the study that a tuning job is, as last seen."""
    spec, now = describe.spec(job), describe.status(job)
    study = watching.study(
        trials.study_of(job), describe.SERVICE, spec, now, partial(estimate, spec)
    )
    return replace(study, job=job, request=request)


def follow_study(job: Tuning, request: Mapping[str, Any]) -> Study:
    """Show the trials until a tuning job ends; fetch the best trial's results."""

    def look() -> Study:
        describe.refresh(job)
        return study_of(job, request)

    name = describe.spec(job).name
    with refusals(f"watching {name}"):
        study = tuning.follow(look, watching.PAUSE[target()], trials.trial_reason, name)
        if not study.finished:
            return study
        best = complete(run_of(trials.trial_job(study.best.name), request))
        return replace(study, run=best)
