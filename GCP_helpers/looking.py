"""What a job was asked to do and how far it is, read from the SDK's own object.

A CustomTrainingJob is a training pipeline, behind which Vertex AI runs a custom job: the machines,
their times and their errors are the custom job's. A CustomJob is one without a pipeline. Behind a
HyperparameterTuningJob there is a custom job for each trial.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

from GCP_helpers.session import refusals
from lesson import LessonError, states
from lesson.jobs import Times
from lesson.runs import Run
from lesson.studies import Study

if TYPE_CHECKING:
    from google.cloud import aiplatform

    Tuning: TypeAlias = aiplatform.HyperparameterTuningJob
    Job: TypeAlias = aiplatform.CustomTrainingJob | aiplatform.CustomJob | Tuning

# JobState and PipelineState, of which the words after STATE_ are the same, in ours.
STATES = {
    "UNSPECIFIED": states.QUEUED,
    "QUEUED": states.QUEUED,
    "PENDING": states.STARTING,
    "RUNNING": states.RUNNING,
    "UPDATING": states.RUNNING,
    "SUCCEEDED": states.SUCCEEDED,
    "PARTIALLY_SUCCEEDED": states.SUCCEEDED,
    "FAILED": states.FAILED,
    "EXPIRED": states.FAILED,
    "CANCELLING": states.CANCELLING,
    "CANCELLED": states.CANCELLED,
    "PAUSED": states.CANCELLED,
}


# ---- which job ----------------------------------------------------------------------------------
def job_of(run_or_job: Run | Study | Job | str) -> Job:
    """The SDK's object: out of a run or study, or found by a job's name, or as it is given."""
    if isinstance(run_or_job, Run | Study):
        if run_or_job.job is None:
            raise LessonError(f"the run on {run_or_job.place} was no job; there is nothing to ask")
        job: Job = run_or_job.job
        return job
    if not isinstance(run_or_job, str):
        if not hasattr(run_or_job, "display_name"):
            raise LessonError(
                f"{run_or_job!r} is no job: give what train() or tune() returned, or a job's name"
            )
        return run_or_job
    with refusals(f"looking for {run_or_job}"):
        found = every(f'display_name="{run_or_job}"')
    if not found:
        raise LessonError(f"there is no job {run_or_job}; list_jobs() shows the names of all")
    return max(found, key=lambda job: job.create_time)


def every(filter: str | None = None) -> list[Job]:
    """The jobs of the project and region that pass a filter, without those behind another."""
    from google.cloud import aiplatform

    pipelines = cast("list[Job]", aiplatform.CustomTrainingJob.list(filter=filter))
    tunings = cast("list[Job]", aiplatform.HyperparameterTuningJob.list(filter=filter))
    hidden = {name for each in (*pipelines, *tunings) for name in _names_behind(each)}
    single = cast("list[Job]", aiplatform.CustomJob.list(filter=filter))
    return [*pipelines, *tunings, *(job for job in single if job.resource_name not in hidden)]


def behind(job: Job) -> Job | None:
    """The custom job that runs the machines; None as long as a pipeline has made none."""
    if not is_pipeline(job):
        return job
    return next(all_behind(job), None)


def all_behind(job: Job) -> Iterator[aiplatform.CustomJob]:
    """The custom jobs that a pipeline, or a tuning job for its trials, has made so far."""
    from google.cloud import aiplatform

    for name in _names_behind(job):
        yield cast("aiplatform.CustomJob", aiplatform.CustomJob.get(name))


def is_pipeline(job: Job) -> bool:
    """Whether the job is a training pipeline, behind which there is a custom job."""
    return "/trainingPipelines/" in job.resource_name


def is_tuning(job: Job) -> TypeGuard[Tuning]:
    """Whether the job is a tuning job, behind which there is a custom job for each trial."""
    return "/hyperparameterTuningJobs/" in job.resource_name


def _names_behind(job: Job) -> list[str]:
    if is_tuning(job):
        return [trial.custom_job for trial in job.gca_resource.trials if trial.custom_job]
    if is_pipeline(job):
        name = job.to_dict().get("trainingTaskMetadata", {}).get("backingCustomJob", "")
        return [name] if name else []
    return []


# ---- what it was asked to do --------------------------------------------------------------------
@dataclass(frozen=True)
class Asked:
    """What a job was asked to do."""

    machine: str
    replicas: int
    gpu: str | None
    gpu_count: int  # to each replica
    spot: bool
    flags: dict[str, str]
    base: str  # the gs:// address below which the job writes; empty where none was given
    packages: tuple[str, ...]  # the gs:// addresses of the code that the SDK uploaded

    @property
    def output(self) -> str:
        """The gs:// address of the results: types/custom_job.py, base_output_directory."""
        return f"{self.base}/model/" if self.base else ""

    def __str__(self) -> str:
        """The machine in a few words, as the run table shows it."""
        gpu = f" + {self.gpu_count} × {self.gpu}" if self.gpu else ""
        return self.machine + gpu + (", spot" if self.spot else "")


def asked(job: Job) -> Asked:
    """What the job was asked to do."""
    spec = _spec(job)
    pool = spec.worker_pool_specs[0]
    machine, package, container = pool.machine_spec, pool.python_package_spec, pool.container_spec
    words = [*package.args, *container.args]
    words += [word for part in container.command for word in part.split()]
    return Asked(
        machine=machine.machine_type,
        replicas=sum(int(each.replica_count) for each in spec.worker_pool_specs),
        gpu=machine.accelerator_type.name if machine.accelerator_count else None,
        gpu_count=machine.accelerator_count,
        spot=spec.scheduling.strategy.name == "SPOT",
        flags=dict(word[2:].split("=", 1) for word in words if word[:2] == "--" and "=" in word),
        base=spec.base_output_directory.output_uri_prefix.rstrip("/"),
        packages=tuple(package.package_uris)
        + tuple(f"gs://{word[5:]}" for word in words if word.startswith("/gcs/")),
    )


def _spec(job: Job) -> Any:
    """The CustomJobSpec: worker pools, scheduling, output. In a pipeline it is free-form JSON."""
    from google.cloud.aiplatform_v1.types import CustomJobSpec

    if is_tuning(job):
        return job.gca_resource.trial_job_spec
    if not is_pipeline(job):
        return job.gca_resource.job_spec
    found = job.to_dict()["trainingTaskInputs"]
    return CustomJobSpec.from_json(json.dumps(found), ignore_unknown_fields=True)


# ---- how far it is ------------------------------------------------------------------------------
def times(job: Job) -> Times:
    """When the job was made, started and ended, as last seen."""
    seen = job.gca_resource  # the SDK's own job.start_time would ask the service once more
    return Times(seen.create_time, seen.start_time, seen.end_time)


def refresh(job: Job) -> None:
    """Ask the service how the job is; what the other functions tell is as last seen."""
    _ = job.state  # the SDK asks whenever this is read


def state(job: Job) -> str:
    """Return the job's state, one of lesson.states."""
    return STATES[word(job)]


def word(job: Job) -> str:
    """Return the service's word for the state: RUNNING for JOB_ and PIPELINE_STATE_RUNNING."""
    return str(job.gca_resource.state.name).rpartition("STATE_")[2]


def last_row(history: str) -> dict[str, str]:
    """The last whole row of a history.csv; empty if there is none yet."""
    rows = [row for row in csv.DictReader(io.StringIO(history)) if None not in row.values()]
    return rows[-1] if rows else {}


def why(job: Job) -> str:
    """What the service says went wrong, in sentences."""
    return in_short(str(job.gca_resource.error.message) or "the service gives no reason")


def in_short(message: str) -> str:
    """What the service says, in sentences, without the inner lines of a traceback.

    Its message names the replica and its exit code, then has the end of that replica's log, whose
    last line is the script's own, and then where the whole log lies.
    """
    lines = [line.strip() for line in message.splitlines() if line[:1].strip()] or [""]
    says = lines[0].removesuffix("Termination reason: Error.").strip()
    where = [line for line in lines[1:] if line.startswith(("Its log: ", "To find out more"))]
    own = [line for line in lines[1:] if line not in where]
    return " ".join([says, *(f"Its last line: {line.rstrip('.')}." for line in own[-1:]), *where])
