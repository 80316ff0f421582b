"""Wait for a job, a study or a machine: show how far it is until it ends, and fetch its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from lesson import LessonError, target
from lesson.jobs import results, tuning, watching
from lesson.jobs.cloud import Cloud
from lesson.jobs.epochs import epochs_of_results
from lesson.jobs.lookup import job_of
from lesson.jobs.runs import Run
from lesson.jobs.states import CANCELLED, SUCCEEDED
from lesson.jobs.studies import Study
from lesson.machines import vm
from lesson.machines.this_machine import new_folder


def wait(cloud: Cloud, run_or_job: Any) -> Run | Study:
    """Show how far something is until it ends, and return the completed run or study."""
    if isinstance(run_or_job, Run) and isinstance(run_or_job.job, vm.RentedMachine):
        return vm.wait_for(cloud, run_or_job)
    job = job_of(cloud, run_or_job)
    if cloud.is_tuning(job):
        request = run_or_job.request if isinstance(run_or_job, Study) else {}
        return follow_study(cloud, job, request)
    return follow(cloud, run_or_job if isinstance(run_or_job, Run) else run_of(cloud, job, {}))


# ---- a job --------------------------------------------------------------------------------------
def run_of(cloud: Cloud, job: Any, request: Mapping[str, Any], *, code: str = "") -> Run:
    """Return the row of a job that has not ended; `code` is the name of the folder it was sent."""
    return results.row(cloud.service, cloud.spec(job), job, request=request, code=code)


def follow(cloud: Cloud, run: Run) -> Run:
    """Show how far a run's job is until it ends, and complete its row."""
    spec = cloud.spec(run.job)
    price = partial(cloud.estimate, spec)
    with watching.in_place(spec.name) as display, cloud.refusals(f"watching {spec.name}"):
        shown = watching.follow(display, spec, cloud.looks_at(run.job), estimate=price)
    run = complete(cloud, replace(run, interruptions=max(run.interruptions, shown.interruptions)))
    if run.copy:
        display.redraw(shown.with_epochs(epochs_of_results(run.copy)))
    return run


def complete(cloud: Cloud, run: Run) -> Run:
    """Return the row of a job that has ended, with its results; LessonError if it failed."""
    spec, now = cloud.spec(run.job), cloud.status(run.job)
    with cloud.refusals(f"reading how {spec.name} ended"):
        machines = cloud.backing_job(run.job)
        times = cloud.status(machines).times
        if now.state not in (SUCCEEDED, CANCELLED):
            raise LessonError(f"{spec.name} {now.state}. {cloud.failure_reason(machines)}")
    price = partial(cloud.estimate, spec)
    run = results.row_of_ended(run, spec, now, machines=times, estimate=price)
    if now.state == CANCELLED or not run.artefacts:
        return run
    copy = cloud.fetch(run.artefacts, new_folder(cloud.service.lower().replace(" ", "-")))
    return results.with_results(run, spec.name, times, copy=copy)


# ---- a study ------------------------------------------------------------------------------------
def study_of(cloud: Cloud, job: Any, request: Mapping[str, Any]) -> Study:
    """Return the study that a tuning job is, and its trials, as it stands."""
    spec, now, search = cloud.spec(job), cloud.status(job), cloud.search(job)
    price = partial(cloud.estimate, spec)
    return Study(
        place=results.place(cloud.service),
        metric=search.metric,
        goal=search.goal,
        trials=search.trials,
        planned=search.planned,
        space=search.space,
        name=spec.name,
        state=now.state,
        service_state=now.word,
        seconds=now.times.seconds(),
        cost=watching.cost(price, *(trial.seconds for trial in search.trials)),
        job=job,
        request=request,
    )


def follow_study(cloud: Cloud, job: Any, request: Mapping[str, Any]) -> Study:
    """Show the trials until a tuning job ends; fetch the best trial's results."""

    def look() -> Study:
        cloud.refresh(job)
        return study_of(cloud, job, request)

    name = cloud.spec(job).name
    with cloud.refusals(f"watching {name}"):
        study = tuning.follow(look, watching.PAUSE[target()], cloud.trial_reason, name=name)
        if not study.trials_with_result:
            return study
        best = run_of(cloud, cloud.trial_job(study.best.name), request)
        return replace(study, run=complete(cloud, best))
