"""Send a training job to Vertex AI."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from GCP_helpers import describe, images, spending
from GCP_helpers.costs import accelerator_type, estimate_cost
from GCP_helpers.describe import VertexAI
from GCP_helpers.session import current_session, refusals
from lesson.jobs import sending, waiting
from lesson.jobs.code import FOLDER, folder_of
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from lesson.jobs.states import FAILED
from lesson.machines.this_machine import flags
from lesson.money import budget, costs
from lesson.services.sessions import new_name

if TYPE_CHECKING:
    from GCP_helpers.describe import Job

TPU_MACHINES = ("ct5lp-hightpu", "ct6e-standard")  # v5e and v6e
TOPOLOGIES = {"1t": "1x1", "4t": "2x2", "8t": "2x4"}  # of one machine, by its chips


def train(
    args: Mapping[str, Any],
    machine: str = "n1-standard-4",
    replicas: int = 1,
    *,
    gpu: str | None = None,
    spot: bool = False,
    wait: bool = True,
    dry_run: bool = False,
    gpu_count: int = 1,
    container_uri: str | None = None,
    code: str | Path | Run | None = None,
) -> Run | Request:
    """Send train_nn.py to Vertex AI, as a job of its own, and wait for its end.

    `args` maps flags of train_nn.py, without the dashes, to values; data is named by gs:// URIs.
    `gpu_count` is per replica, `container_uri` another image than image_for()'s, `code` the folder
    of your copy of the script, or a run whose code is to be used again. A machine with TPUs
    ("ct5lp-hightpu-1t") needs an image that holds torch_xla. With `spot` the machines may be taken
    away, and the job is then started again, up to six times: give args a `checkpoint_every`, or a
    stop costs all that was done. With wait=False this returns at once, and wait(run) later. Returns
    a row of the run table, with the SDK's object at .job and the request at .request; with
    dry_run=True the request alone, unsent: print it to read it. Raises LessonError for what cannot
    be sent, and for a job that fails.
    """
    from google.cloud.aiplatform.gapic import Scheduling

    session = current_session()
    sending.check_readable(args, "gs://", "/gcs/")
    folder = folder_of(code) if code else FOLDER
    an_hour = partial(
        estimate_cost, machine, gpu, replicas, gpu_count=gpu_count, region=session.region
    )
    costs.state("Vertex AI", an_hour, spot)
    sending.warn_of_stops(args, spot)
    image = container_uri or images.image_for(gpu)
    images.warn(image)

    name = new_name("train")
    sources = {
        "display_name": name,
        "script_path": os.path.relpath(folder),
        "container_uri": image,
        "labels": session.labels,
    }
    machines = {
        "base_output_dir": f"{session.uri}/runs/{name}",
        "machine_type": machine,
        "replica_count": replicas,
        "accelerator_type": accelerator_type(gpu),
        "accelerator_count": gpu_count if gpu else 0,
        **tpu(machine),
    }
    stops = {"scheduling_strategy": Scheduling.Strategy.SPOT if spot else None}
    if images.is_prebuilt(image):  # Google's own images run a package
        submit = {"args": flags(args), **machines, **stops}
        request = Request({"CustomTrainingJob": sources, "submit": submit})
    else:  # any other image runs a shell's command
        words = [shlex.quote(flag) for flag in flags(args)]
        script = {**sources, "args": words, **machines}
        request = Request({"CustomJob.from_local_script": script, "submit": stops})
    if dry_run:
        return request

    cloud = VertexAI(session)
    budget.require(an_hour, budget.HOUR, partial(spending.estimate_spending, cloud))
    run = waiting.run_of(cloud, send(request), request, code=folder.name)
    return waiting.follow(cloud, run) if wait else run


def send(request: Request) -> Job:
    """Send what train(..., dry_run=True) returned, and return the SDK's object of the job."""
    with sending.explain_interrupts(), refusals("sending the job"), _no_word_of_models():
        job = make(request)
        try:
            job.submit(**request["submit"])
        except RuntimeError:  # a job that has failed by the time of the SDK's first look at it
            if describe.cloud().status(job).state != FAILED:
                raise
    sent: Job = job
    return sent


def make(request: Request) -> Any:
    """Make the SDK's object of the job, which uploads the code."""
    from google.cloud import aiplatform

    if "CustomTrainingJob" in request:
        return aiplatform.CustomTrainingJob(**request["CustomTrainingJob"])
    return aiplatform.CustomJob.from_local_script(**request["CustomJob.from_local_script"])


@contextmanager
def _no_word_of_models() -> Iterator[None]:
    """Leave out the SDK's warning that there will be no Model resource: none is asked for."""
    log = logging.getLogger("google.cloud.aiplatform.training_jobs")
    log.addFilter(_is_not_about_models)
    try:
        yield
    finally:
        log.removeFilter(_is_not_about_models)


def _is_not_about_models(record: logging.LogRecord) -> bool:
    return "Managed Model" not in record.getMessage()


def tpu(machine: str) -> dict[str, Any]:
    """Return what a machine type with TPUs needs beside its name: how its chips are connected.

    >>> tpu("ct5lp-hightpu-4t"), tpu("n1-standard-4")
    ({'tpu_topology': '2x2'}, {})

    https://cloud.google.com/vertex-ai/docs/training/training-with-tpu-vm has the types.
    """
    family, _, chips = machine.rpartition("-")
    return {"tpu_topology": TOPOLOGIES[chips]} if family in TPU_MACHINES else {}
