"""Training jobs on Vertex AI: send one, list them, watch one, cancel one."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from GCP_helpers import images, looking, trials
from GCP_helpers.costs import accelerator_type, estimate_cost
from GCP_helpers.looking import ENDED, job_of
from GCP_helpers.session import connected, refusals
from GCP_helpers.watching import follow, run_of
from lesson import ROOT, costs, jobs
from lesson.runs import Run
from lesson.studies import Study
from lesson.this_machine import flags

if TYPE_CHECKING:
    import pandas as pd
    from google.cloud import aiplatform

    from GCP_helpers.looking import Job

FOLDER = ROOT / "training"  # is sent whole, as a package; must hold no link


def train(
    args: Mapping[str, Any],
    machine: str = "n1-standard-4",
    replicas: int = 1,
    gpu: str | None = None,
    spot: bool = False,
    wait: bool = True,
    *,
    gpu_count: int = 1,
    container_uri: str | None = None,
) -> Run:
    """Send train_nn.py to Vertex AI, as a job of its own, and wait for its end.

    `args` maps flags of train_nn.py, without the dashes, to values; data is named by gs://
    addresses. `gpu_count` is per replica, `container_uri` an image of your own instead of
    Google's. With `spot` the machines may be taken away, and the job is then started again, up to
    six times: give args a `checkpoint_every`, or a stop costs all that was done. With wait=False
    this returns at once, and wait(run) later. Returns a row of the run table, with the SDK's object
    at .job and what the SDK was told at .request. Raises LessonError for what cannot be sent, and
    for a job that fails.
    """
    from google.cloud import aiplatform

    session = connected()
    jobs.check_readable(args, "gs://", "/gcs/")
    costs.state("Vertex AI", lambda: price(machine, gpu, replicas, gpu_count), spot)
    jobs.warn_of_stops(args, spot)
    image = container_uri or images.image_for(gpu)
    images.warn(image)
    name = f"train-nn-{datetime.now():%Y%m%d-%H%M%S-%f}"
    what: dict[str, Any] = {
        "display_name": name,
        "script_path": os.path.relpath(FOLDER),
        "container_uri": image,
        "labels": session.labels,
    }
    how: dict[str, Any] = {
        "args": flags(args),
        "base_output_dir": f"{session.address}/runs/{name}",
        **machines(machine, replicas, gpu, gpu_count),
    }
    when = scheduling(spot)
    job: Job
    with jobs.sending(), refusals("sending the job"):
        if images.is_prebuilt(image):
            request = {"CustomTrainingJob": what, "submit": how | when}
            job = aiplatform.CustomTrainingJob(**what)
            _submit(job, **how, **when)
        else:  # Google's images run a package that they are sent; others get a shell's command
            how["args"] = [shlex.quote(flag) for flag in flags(args)]
            request = {"CustomJob.from_local_script": what | how, "submit": when}
            job = aiplatform.CustomJob.from_local_script(**what, **how)
            job.submit(**when)
    run = run_of(job, request)
    return follow(job, run) if wait else run


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
        if (word := looking.state(job)) in ENDED:
            print(f"{name} had already ended: {word}")
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
    asked, state = looking.asked(job), looking.last_state(job)
    count = f"{len(job.trials)} trials on " if looking.is_tuning(job) else ""
    return jobs.row(job.display_name, state, looking.times(job), asked.replicas, f"{count}{asked}")


# ---- before a job is sent -----------------------------------------------------------------------
def price(machine: str, gpu: str | None, replicas: int, gpu_count: int) -> costs.Estimate:
    """What an hour of these machines costs in the session's region."""
    region = connected().region
    return estimate_cost(machine, gpu, replicas, gpu_count=gpu_count, region=region)


def machines(machine: str, replicas: int, gpu: str | None, gpu_count: int) -> dict[str, Any]:
    """The machines, in the words of the SDK."""
    asked: dict[str, Any] = {"replica_count": replicas, "machine_type": machine}
    if gpu:
        asked |= {"accelerator_type": accelerator_type(gpu), "accelerator_count": gpu_count}
    return asked


def scheduling(spot: bool) -> dict[str, Any]:
    """How the machines are got, in the words of the SDK."""
    from google.cloud import aiplatform

    return {"scheduling_strategy": aiplatform.gapic.Scheduling.Strategy.SPOT} if spot else {}


def _submit(job: aiplatform.CustomTrainingJob, **request: Any) -> None:
    """job.submit(), also of a job that has failed by the time of the SDK's first look at it.

    Without the SDK's warning that there will be no Model resource: none is asked for.
    """
    log = logging.getLogger("google.cloud.aiplatform.training_jobs")
    log.addFilter(_not_about_models)
    try:
        job.submit(**request)
    except RuntimeError:
        if looking.last_state(job) != "failed":
            raise
    finally:
        log.removeFilter(_not_about_models)


def _not_about_models(record: logging.LogRecord) -> bool:
    return "Managed Model" not in record.getMessage()
