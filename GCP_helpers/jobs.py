"""Training jobs on Vertex AI: send one, list them, watch one, cancel one."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from GCP_helpers import backend, describe, images, spending
from GCP_helpers.costs import accelerator_type, estimate_cost
from GCP_helpers.session import connected, refusals
from lesson import ROOT, budget, costs, jobs
from lesson.request import Request
from lesson.runs import Run
from lesson.states import FAILED
from lesson.this_machine import flags
from lesson.verbs import Verbs

if TYPE_CHECKING:
    from GCP_helpers.describe import Job

verbs = Verbs(backend)
wait, cancel, list_jobs = verbs.wait, verbs.cancel, verbs.list_jobs
TPU_MACHINES = ("ct5lp-hightpu", "ct6e-standard")  # v5e and v6e
TOPOLOGIES = {"1t": "1x1", "4t": "2x2", "8t": "2x4"}  # of one machine, by its chips
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
    URIs. `gpu_count` is per replica, `container_uri` an image of your own instead of
    Google's. A machine with TPUs ("ct5lp-hightpu-1t") needs an image that holds torch_xla. With
    `spot` the machines may be taken away, and the job is then started again, up to
    six times: give args a `checkpoint_every`, or a stop costs all that was done. With wait=False
    this returns at once, and wait(run) later. Returns a row of the run table, with the SDK's object
    at .job and the request at .request; with dry_run=True the request alone, unsent: print it to
    read it. Raises LessonError for what cannot be sent, and for a job that fails.
    """
    connected()
    jobs.check_readable(args, "gs://", "/gcs/")
    an_hour = partial(price, machine, gpu, replicas, gpu_count)
    costs.state("Vertex AI", an_hour, spot)
    jobs.warn_of_stops(args, spot)
    image = container_uri or images.image_for(gpu)
    images.warn(image)
    make = package_request if images.is_prebuilt(image) else command_request
    request = make(args, machine, replicas, gpu, gpu_count, spot, image)
    if dry_run:
        return request
    spending.require(an_hour, budget.HOUR)
    run = verbs.run_of(_send(request), request)
    return verbs.follow(run) if wait else run


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
            base_output_dir=f"{session.uri}/runs/{name}",
            machine_type=machine,
            replica_count=replicas,
            accelerator_type=accelerator_type(gpu),
            accelerator_count=gpu_count if gpu else 0,
            scheduling_strategy=Scheduling.Strategy.SPOT if spot else None,
            **tpu(machine),
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
            base_output_dir=f"{session.uri}/runs/{name}",
            machine_type=machine,
            replica_count=replicas,
            accelerator_type=accelerator_type(gpu),
            accelerator_count=gpu_count if gpu else 0,
            labels=session.labels,
            **tpu(machine),
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
            if describe.status(job).state != FAILED:
                raise
        finally:
            log.removeFilter(_not_about_models)
    return job


def _not_about_models(record: logging.LogRecord) -> bool:
    return "Managed Model" not in record.getMessage()


def tpu(machine: str) -> dict[str, Any]:
    """Return what a machine type with TPUs needs beside its name: how its chips are connected.

    >>> tpu("ct5lp-hightpu-4t"), tpu("n1-standard-4")
    ({'tpu_topology': '2x2'}, {})

    https://cloud.google.com/vertex-ai/docs/training/training-with-tpu-vm has the types.
    """
    family, _, chips = machine.rpartition("-")
    return {"tpu_topology": TOPOLOGIES[chips]} if family in TPU_MACHINES else {}


# ---- before a job is sent -----------------------------------------------------------------------
def price(machine: str, gpu: str | None, replicas: int, gpu_count: int) -> costs.Estimate:
    """Return what an hour of these machines costs in the session's region."""
    region = connected().region
    return estimate_cost(machine, gpu, replicas, gpu_count=gpu_count, region=region)


def new_name(verb: str) -> str:
    """Return a name for a job, by the time, so that no two are the same."""
    return f"{verb}-nn-{datetime.now():%Y%m%d-%H%M%S-%f}"
