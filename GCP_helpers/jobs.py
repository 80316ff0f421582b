"""Training jobs on Vertex AI: send one, list them, watch one, cancel one."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from GCP_helpers import images, looking
from GCP_helpers.costs import accelerator_type, estimate_cost
from GCP_helpers.looking import ENDED, job_of
from GCP_helpers.session import connected, refusals
from GCP_helpers.watching import follow, run_of
from lesson import ROOT, costs, jobs
from lesson.runs import Run
from lesson.this_machine import flags

if TYPE_CHECKING:
    import pandas as pd
    from google.cloud import aiplatform

    from GCP_helpers.looking import Job

SCRIPT = ROOT / "GCP_helpers" / "train_nn.py"


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
    costs.state("Vertex AI", lambda: _price(machine, gpu, replicas, gpu_count), spot)
    jobs.warn_of_stops(args, spot)
    image = container_uri or images.image_for(gpu)
    images.warn(image)
    name = f"train-nn-{datetime.now():%Y%m%d-%H%M%S-%f}"
    what: dict[str, Any] = {
        "display_name": name,
        "script_path": os.path.relpath(SCRIPT),
        "container_uri": image,
        "labels": session.labels,
    }
    how: dict[str, Any] = {
        "args": flags(args),
        "replica_count": replicas,
        "machine_type": machine,
        "base_output_dir": f"{session.address}/runs/{name}",
    }
    if gpu:
        how |= {"accelerator_type": accelerator_type(gpu), "accelerator_count": gpu_count}
    when: dict[str, Any] = (
        {"scheduling_strategy": aiplatform.gapic.Scheduling.Strategy.SPOT} if spot else {}
    )
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


def wait(run_or_job: Run | Job | str) -> Run:
    """Show how far a job is until it ends, and fetch its results; returns the completed run.

    Takes what train() returned, an SDK object, or a job's name. Interrupting it leaves the job
    running; call it again to go on watching. Raises LessonError if the job fails.
    """
    connected()
    job = job_of(run_or_job)
    return follow(job, run_or_job if isinstance(run_or_job, Run) else run_of(job, {}))


def cancel(run_or_job: Run | Job | str) -> None:
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
    """All custom training jobs of the project and region, newest first."""
    connected()
    with refusals("listing the jobs"):
        found = sorted(looking.every(), key=lambda job: job.create_time, reverse=True)
    return jobs.table([_row(job) for job in found])


def _row(job: Job) -> Sequence[Any]:
    asked, state = looking.asked(job), looking.last_state(job)
    return jobs.row(job.display_name, state, looking.times(job), asked.replicas, str(asked))


# ---- before a job is sent -----------------------------------------------------------------------
def _price(machine: str, gpu: str | None, replicas: int, gpu_count: int) -> costs.Estimate:
    region = connected().region
    return estimate_cost(machine, gpu, replicas, gpu_count=gpu_count, region=region)


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
