"""Wait for a job of SageMaker: show how far it is until it ends, and fetch its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from AWS_helpers import describe, storage
from AWS_helpers.costs import estimate_cost
from AWS_helpers.session import current_session, refusals
from lesson import LessonError
from lesson.jobs import results, watching
from lesson.jobs.epochs import Epoch, epoch_of, epochs_of_results
from lesson.jobs.runs import Run
from lesson.jobs.spec import JobSpec, JobStatus
from lesson.jobs.states import CANCELLED, ENDED, SUCCEEDED
from lesson.machines.this_machine import new_folder
from lesson.money.costs import Estimate

if TYPE_CHECKING:
    from sagemaker.core.resources import TrainingJob

    from AWS_helpers.describe import Job
    from lesson.jobs.studies import Study


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
    from AWS_helpers import studies, vm  # which use the functions below
    from lesson.jobs.studies import Study
    from lesson.machines.vm import Rented

    current_session()
    if isinstance(run_or_job, Run) and isinstance(run_or_job.job, Rented):
        return vm.wait_for(run_or_job)
    job = describe.job_of(run_or_job)
    if describe.is_tuning(job):
        request = run_or_job.request if isinstance(run_or_job, Study) else {}
        return studies.follow(job, request)
    return follow(run_or_job if isinstance(run_or_job, Run) else run_of(job, {}))


def run_of(job: Job, request: Mapping[str, Any]) -> Run:
    """Return the row of a job that has not ended."""
    return results.row(describe.SERVICE, describe.spec(job), job, request=request)


def follow(run: Run) -> Run:
    """Show how far a run's job is until it ends, and complete its row."""
    spec = describe.spec(run.job)
    with watching.in_place(spec.name) as display, refusals(f"watching {spec.name}"):
        shown = watching.follow(display, spec, looks_at(run.job), estimate=partial(estimate, spec))
    run = complete(replace(run, interruptions=max(run.interruptions, shown.interruptions)))
    if run.copy:
        display.redraw(shown.with_epochs(epochs_of_results(run.copy)))
    return run


def complete(run: Run) -> Run:
    """Return the row of a job that has ended, with its results; LessonError if it failed."""
    spec, now = describe.spec(run.job), describe.status(run.job)
    with refusals(f"reading how {spec.name} ended"):
        machines = describe.backing_job(run.job)
        times = describe.status(machines).times
        if now.state not in (SUCCEEDED, CANCELLED):
            raise LessonError(f"{spec.name} {now.state}. {describe.failure_reason(machines)}")
    run = results.row_of_ended(run, spec, now, machines=times, estimate=partial(estimate, spec))
    if now.state == CANCELLED or not run.artefacts:
        return run
    copy = storage.fetch(run.artefacts, new_folder("sagemaker"))
    return results.with_results(run, spec.name, times, copy=copy)


def estimate(spec: JobSpec, hours: float) -> Estimate:
    """Return what a job's machines cost in the session's region."""
    region = current_session().region
    return estimate_cost(spec.machine, replicas=spec.replicas, hours=hours, region=region)


# ---- each look at a job --------------------------------------------------------------------------
def looks_at(job: TrainingJob) -> Iterator[tuple[JobStatus, list[Epoch]]]:
    """Yield what each look at a job shows until it has ended; the log is read last, to be whole."""
    log, epochs = describe.Log(job.training_job_name), dict[int, Epoch]()
    while True:
        describe.refresh(job)
        now = describe.status(job)
        for epoch in filter(None, map(epoch_of, log.news())):
            epochs[epoch.number] = epoch  # an interrupted job repeats some
        yield now, list(epochs.values())
        if now.state in ENDED:
            return
        watching.pause()
