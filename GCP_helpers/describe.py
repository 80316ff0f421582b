"""Describe a job: what it was asked to do and how far it is, read from the SDK's own object.

A CustomTrainingJob is a training pipeline, behind which Vertex AI runs a custom job: the machines,
their times and their errors are the custom job's. A CustomJob is one without a pipeline. Behind a
HyperparameterTuningJob there is a custom job for each trial.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

from GCP_helpers.session import refusals
from lesson.jobs import states
from lesson.jobs.lookup import job_in, no_such_job, not_a_job
from lesson.jobs.spec import JobSpec, JobStatus, Times

if TYPE_CHECKING:
    from google.cloud import aiplatform

    Tuning: TypeAlias = aiplatform.HyperparameterTuningJob
    Job: TypeAlias = aiplatform.CustomTrainingJob | aiplatform.CustomJob | Tuning

SERVICE = "Vertex AI"
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
def find_job(name: str) -> Job:
    """Return the newest job of this name; raise LessonError if there is none."""
    with refusals(f"looking for {name}"):
        found = every(f'display_name="{name}"')
    if not found:
        raise no_such_job(name)
    return found[0]


def job_of(run_or_job: Any) -> Job:
    """Return the SDK's object: of a run or study, by a job's name, or as it is given."""
    job = job_in(run_or_job)
    if isinstance(job, str):
        return find_job(job)
    if not is_job(job):
        raise not_a_job(job)
    found: Job = job
    return found


def is_job(thing: Any) -> bool:
    """Tell whether something is an SDK's job at all."""
    return hasattr(thing, "display_name")


def every(filter: str | None = None) -> list[Job]:
    """Return the jobs that pass a filter, newest first, without those behind another."""
    from google.cloud import aiplatform

    pipelines = cast("list[Job]", aiplatform.CustomTrainingJob.list(filter=filter))
    tunings = cast("list[Job]", aiplatform.HyperparameterTuningJob.list(filter=filter))
    hidden = {name for each in (*pipelines, *tunings) for name in _backing_names(each)}
    single = cast("list[Job]", aiplatform.CustomJob.list(filter=filter))
    found = [*pipelines, *tunings, *(job for job in single if job.resource_name not in hidden)]
    return sorted(found, key=lambda job: job.create_time, reverse=True)


def backing_job(job: Job) -> Job:
    """Return the custom job that runs the machines; the pipeline while it has made none."""
    return next(backing_jobs(job), job) if is_pipeline(job) else job


def backing_jobs(job: Job) -> Iterator[aiplatform.CustomJob]:
    """Return the custom jobs that a pipeline, or a tuning job for its trials, has made so far."""
    from google.cloud import aiplatform

    for name in _backing_names(job):
        yield cast("aiplatform.CustomJob", aiplatform.CustomJob.get(name))


def is_pipeline(job: Job) -> bool:
    """Tell whether the job is a training pipeline, behind which there is a custom job."""
    return "/trainingPipelines/" in job.resource_name


def is_tuning(job: Job) -> TypeGuard[Tuning]:
    """Tell whether the job is a tuning job, behind which there is a custom job for each trial."""
    return "/hyperparameterTuningJobs/" in job.resource_name


def _backing_names(job: Job) -> list[str]:
    if is_tuning(job):
        return [trial.custom_job for trial in job.gca_resource.trials if trial.custom_job]
    if is_pipeline(job):
        name = job.to_dict().get("trainingTaskMetadata", {}).get("backingCustomJob", "")
        return [name] if name else []
    return []


# ---- what it was asked to do --------------------------------------------------------------------
def spec(job: Job) -> JobSpec:
    """Return what the job was asked to do."""
    found = _custom_job_spec(job)
    pools = [each for each in found.worker_pool_specs if each.replica_count]
    machine, package = pools[0].machine_spec, pools[0].python_package_spec
    container, mixed = pools[0].container_spec, _name_machines(pools)
    words = [*package.args, *container.args]
    words += [word for part in container.command for word in part.split()]
    # types/custom_job.py, base_output_directory, says where below it a job leaves what.
    base = found.base_output_directory.output_uri_prefix.rstrip("/")
    code = [*package.package_uris, *(f"gs://{w[5:]}" for w in words if w.startswith("/gcs/"))]
    return JobSpec(
        name=job.display_name,
        machine=mixed or machine.machine_type,
        replicas=sum(int(each.replica_count) for each in pools),
        gpu=machine.accelerator_type.name if machine.accelerator_count and not mixed else None,
        gpu_count=0 if mixed else machine.accelerator_count,
        spot=found.scheduling.strategy.name == "SPOT",
        flags=dict(word[2:].split("=", 1) for word in words if word[:2] == "--" and "=" in word),
        base=base,
        output=f"{base}/model/" if base else "",
        written=(f"{base}/", *code),
    )


def _name_machines(pools: Sequence[Any]) -> str:
    """Name the machines of pools that differ, as `costs` reads them; "" if all are equal."""
    names = []
    for machine in (pool.machine_spec for pool in pools):
        gpus = f" + {machine.accelerator_count} × {machine.accelerator_type.name}"
        names.append(machine.machine_type + (gpus if machine.accelerator_count else ""))
    if len(set(names)) == 1:
        return ""
    counted = zip(pools, names, strict=True)
    return " and ".join(f"{pool.replica_count} × {name}" for pool, name in counted)


def _custom_job_spec(job: Job) -> Any:
    """Return worker pools, scheduling and output. In a pipeline they are free-form JSON."""
    from google.cloud.aiplatform_v1.types import CustomJobSpec

    if is_tuning(job):
        return job.gca_resource.trial_job_spec
    if not is_pipeline(job):
        return job.gca_resource.job_spec
    found = job.to_dict()["trainingTaskInputs"]
    return CustomJobSpec.from_json(json.dumps(found), ignore_unknown_fields=True)


# ---- how far it is ------------------------------------------------------------------------------
def refresh(job: Job) -> None:
    """Ask the service how the job is; what the other functions tell is as last seen."""
    _ = job.state  # the SDK asks whenever this is read


def status(job: Job) -> JobStatus:
    """Return how far the job is."""
    seen = job.gca_resource  # the SDK's own job.start_time would ask the service once more
    name = str(seen.state.name)
    word = name.rpartition("STATE_")[2]  # the same for JOB_ and PIPELINE_STATE_RUNNING
    return JobStatus(
        state=STATES[word],
        service_state=name,
        word=word,
        times=Times(seen.create_time, seen.start_time, seen.end_time),
        trials=len(job.trials) if is_tuning(job) else None,
    )


def failure_reason(job: Job) -> str:
    """Return what the service says went wrong, in sentences."""
    return in_short(str(job.gca_resource.error.message) or "the service gives no reason")


def in_short(message: str) -> str:
    """Return what the service says, in sentences, without the inner lines of a traceback.

    Its message names the replica and its exit code, then has the end of that replica's log, whose
    last line is the script's own, and then where the whole log lies.
    """
    lines = [line.strip() for line in message.splitlines() if line[:1].strip()] or [""]
    says = lines[0].removesuffix("Termination reason: Error.").strip()
    where = [line for line in lines[1:] if line.startswith(("Its log: ", "To find out more"))]
    own = [line for line in lines[1:] if line not in where]
    return " ".join([says, *(f"Its last line: {line.rstrip('.')}." for line in own[-1:]), *where])
