"""Training jobs on Vertex AI: send one, list them, watch one, cancel one."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from GCP_helpers import images, looking, trials
from GCP_helpers.costs import accelerator_type, estimate_cost
from GCP_helpers.looking import job_of
from GCP_helpers.session import connected, refusals
from GCP_helpers.watching import follow, run_of
from lesson import ROOT, costs, jobs
from lesson.request import Request
from lesson.runs import Run
from lesson.states import ENDED, FAILED
from lesson.studies import Study
from lesson.this_machine import flags

if TYPE_CHECKING:
    import pandas as pd

    from GCP_helpers.looking import Job

FOLDER = ROOT / "training"  # is sent whole, as a package; must hold no link


def train(
    args: Mapping[str, Any],
    machine: str = "n1-standard-4",
    replicas: int = 1,
    gpu: str | None = None,
    spot: bool = False,
    wait: bool = True,
    dry_run: bool = False,
    *,
    gpu_count: int = 1,
    container_uri: str | None = None,
) -> Run | Request:
    """Send train_nn.py to Vertex AI, as a job of its own, and wait for its end.

    `args` maps flags of train_nn.py, without the dashes, to values; data is named by gs://
    addresses. `gpu_count` is per replica, `container_uri` an image of your own instead of
    Google's. With `spot` the machines may be taken away, and the job is then started again, up to
    six times: give args a `checkpoint_every`, or a stop costs all that was done. With wait=False
    this returns at once, and wait(run) later. Returns a row of the run table, with the SDK's object
    at .job and the request at .request; with dry_run=True the request alone, unsent: print it to
    read it. Raises LessonError for what cannot be sent, and for a job that fails.
    """
    connected()
    jobs.check_readable(args, "gs://", "/gcs/")
    costs.state("Vertex AI", lambda: price(machine, gpu, replicas, gpu_count), spot)
    jobs.warn_of_stops(args, spot)
    image = container_uri or images.image_for(gpu)
    images.warn(image)
    make = package_request if images.is_prebuilt(image) else command_request
    request = make(args, machine, replicas, gpu, gpu_count, spot, image)
    if dry_run:
        return request
    run = run_of(_send(request), request)
    return follow(run.job, run) if wait else run


def package_request(
    args: Mapping[str, Any],
    machine: str,
    replicas: int,
    gpu: str | None,
    gpu_count: int,
    spot: bool,
    image: str,
) -> Request:
    """Return the calls that send train_nn.py as a package, which Google's own images run."""
    from google.cloud.aiplatform import CustomTrainingJob
    from google.cloud.aiplatform.gapic import Scheduling

    session, name = connected(), new_name("train")
    return Request(
        partial(
            CustomTrainingJob,
            display_name=name,
            script_path=os.path.relpath(FOLDER),
            container_uri=image,
            labels=session.labels,
        ),
        partial(
            CustomTrainingJob.submit,
            args=[*flags(args)],
            base_output_dir=f"{session.address}/runs/{name}",
            machine_type=machine,
            replica_count=replicas,
            accelerator_type=accelerator_type(gpu),
            accelerator_count=gpu_count if gpu else 0,
            scheduling_strategy=Scheduling.Strategy.SPOT if spot else None,
        ),
    )


def command_request(
    args: Mapping[str, Any],
    machine: str,
    replicas: int,
    gpu: str | None,
    gpu_count: int,
    spot: bool,
    image: str,
) -> Request:
    """Return the calls that send train_nn.py with a shell's command, which any other image runs."""
    from google.cloud.aiplatform import CustomJob
    from google.cloud.aiplatform.gapic import Scheduling

    session, name = connected(), new_name("train")
    return Request(
        partial(
            CustomJob.from_local_script,
            display_name=name,
            script_path=os.path.relpath(FOLDER),
            container_uri=image,
            args=[shlex.quote(flag) for flag in flags(args)],
            base_output_dir=f"{session.address}/runs/{name}",
            machine_type=machine,
            replica_count=replicas,
            accelerator_type=accelerator_type(gpu),
            accelerator_count=gpu_count if gpu else 0,
            labels=session.labels,
        ),
        partial(
            CustomJob.submit,
            scheduling_strategy=Scheduling.Strategy.SPOT if spot else None,
        ),
    )


def _send(request: Request) -> Job:
    """Make the calls, also of a job that has failed by the time of the SDK's first look at it.

    Without the SDK's warning that there will be no Model resource: none is asked for.
    """
    log = logging.getLogger("google.cloud.aiplatform.training_jobs")
    log.addFilter(_not_about_models)
    with jobs.sending(), refusals("sending the job"):
        job: Job = request.make()
        try:
            request.send(job)
        except RuntimeError:
            if looking.state(job) != FAILED:
                raise
        finally:
            log.removeFilter(_not_about_models)
    return job


def _not_about_models(record: logging.LogRecord) -> bool:
    return "Managed Model" not in record.getMessage()


@overload
def wait(run_or_job: Run) -> Run: ...
@overload
def wait(run_or_job: Study) -> Study: ...
@overload
def wait(run_or_job: Job | str) -> Run | Study: ...
def wait(run_or_job: Run | Study | Job | str) -> Run | Study:
    """Show how far a job is until it ends, and fetch its results; returns the completed run.

    Takes what train() returned, an SDK object, or a job's name; of what tune() returned, or a
    tuning job, it shows the trials and returns the study. Interrupting it leaves the job running;
    call it again to go on watching. Raises LessonError if the job fails.
    """
    connected()
    job = job_of(run_or_job)
    if looking.is_tuning(job):
        return trials.follow(job, run_or_job.request if isinstance(run_or_job, Study) else {})
    return follow(job, run_or_job if isinstance(run_or_job, Run) else run_of(job, {}))


def cancel(run_or_job: Run | Study | Job | str) -> None:
    """Ask Vertex AI to stop a job; takes what wait() takes. A job that has ended stays as it is."""
    connected()
    job = job_of(run_or_job)
    name = job.display_name
    with refusals(f"cancelling {name}"):
        looking.refresh(job)
        if (state := looking.state(job)) in ENDED:
            print(f"{name} had already ended: {state}")
            return
        job.cancel()
    print(f"asked for the end of {name}; wait({name!r}) shows it")


def list_jobs() -> pd.DataFrame:
    """All custom training and tuning jobs of the project and region, newest first."""
    connected()
    with refusals("listing the jobs"):
        found = sorted(looking.every(), key=lambda job: job.create_time, reverse=True)
    return jobs.table([_row(job) for job in found])


def _row(job: Job) -> Sequence[Any]:
    asked, state = looking.asked(job), (looking.state(job), job.gca_resource.state.name)
    machine = f"{len(job.trials)} trials on {asked}" if looking.is_tuning(job) else str(asked)
    return jobs.row(job.display_name, state, looking.times(job), asked.replicas, machine)


# ---- before a job is sent -----------------------------------------------------------------------
def price(machine: str, gpu: str | None, replicas: int, gpu_count: int) -> costs.Estimate:
    """What an hour of these machines costs in the session's region."""
    region = connected().region
    return estimate_cost(machine, gpu, replicas, gpu_count=gpu_count, region=region)


def new_name(verb: str) -> str:
    """Return a name for a job, by the time, so that no two are the same."""
    return f"{verb}-nn-{datetime.now():%Y%m%d-%H%M%S-%f}"
