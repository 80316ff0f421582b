"""Vertex AI's jobs, as `lesson.jobs` asks for them: describe them, watch them, fetch, price.

A CustomTrainingJob is a training pipeline, behind which Vertex AI runs a custom job: the machines,
their times and their errors are the custom job's. A CustomJob is one without a pipeline. Behind a
HyperparameterTuningJob there is a custom job for each trial.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeGuard, cast

from GCP_helpers import storage, studies
from GCP_helpers.costs import estimate_cost
from GCP_helpers.failures import in_short
from GCP_helpers.session import Session, current_session, refusals
from GCP_helpers.states import STATES
from GCP_helpers.stops import Stops
from lesson.jobs import watching
from lesson.jobs.cloud import Search
from lesson.jobs.epochs import Epoch, epochs_in
from lesson.jobs.spec import JobSpec, JobStatus, Times
from lesson.jobs.states import ENDED
from lesson.jobs.studies import Trial
from lesson.money.costs import Estimate

if TYPE_CHECKING:
    from google.cloud import aiplatform

    Tuning: TypeAlias = aiplatform.HyperparameterTuningJob
    Job: TypeAlias = aiplatform.CustomTrainingJob | aiplatform.CustomJob | Tuning


def cloud() -> VertexAI:
    """Return Vertex AI as connect() has set it up."""
    return VertexAI(current_session())


@dataclass(frozen=True)
class VertexAI:
    """Vertex AI, as a session uses it: a lesson.jobs.cloud.Cloud."""

    service: ClassVar[str] = "Vertex AI"
    session: Session

    @property
    def uri(self) -> str:
        """Return the URI of the session's bucket."""
        return self.session.uri

    def refusals(self, what: str) -> AbstractContextManager[None]:
        """Say in one sentence what the service refused."""
        return refusals(what)

    # ---- which jobs there are -------------------------------------------------------------------
    def every(self, filter: str | None = None) -> list[Job]:
        """Return the jobs that pass a filter, newest first, without those behind another."""
        from google.cloud import aiplatform

        pipelines = cast("list[Job]", aiplatform.CustomTrainingJob.list(filter=filter))
        tunings = cast("list[Job]", aiplatform.HyperparameterTuningJob.list(filter=filter))
        hidden = {name for each in (*pipelines, *tunings) for name in self._backing_names(each)}
        single = cast("list[Job]", aiplatform.CustomJob.list(filter=filter))
        jobs = [*pipelines, *tunings, *(job for job in single if job.resource_name not in hidden)]
        return sorted(jobs, key=attrgetter("create_time"), reverse=True)

    def find(self, name: str) -> Job | None:
        """Return the newest job of this name; None if there is none."""
        return next(iter(self.every(f'display_name="{name}"')), None)

    def is_job(self, thing: Any) -> bool:
        """Tell whether something is an SDK's job at all."""
        return hasattr(thing, "display_name")

    def is_tuning(self, job: Job) -> TypeGuard[Tuning]:
        """Tell whether it is a tuning job, behind which there is a custom job for each trial."""
        return "/hyperparameterTuningJobs/" in job.resource_name

    def backing_job(self, job: Job) -> Job:
        """Return the custom job that runs the machines; the pipeline while it has made none."""
        return next(self.backing_jobs(job), job) if _is_pipeline(job) else job

    def backing_jobs(self, job: Job) -> Iterator[aiplatform.CustomJob]:
        """Return the custom jobs that a pipeline, or a tuning job for its trials, has made."""
        from google.cloud import aiplatform

        for name in self._backing_names(job):
            yield cast("aiplatform.CustomJob", aiplatform.CustomJob.get(name))

    def _backing_names(self, job: Job) -> list[str]:
        if self.is_tuning(job):
            return [trial.custom_job for trial in job.gca_resource.trials if trial.custom_job]
        if _is_pipeline(job):
            name = job.to_dict().get("trainingTaskMetadata", {}).get("backingCustomJob", "")
            return [name] if name else []
        return []

    # ---- what a job was asked to do -------------------------------------------------------------
    def spec(self, job: Job) -> JobSpec:
        """Return what the job was asked to do."""
        custom = self._custom_job_spec(job)
        pools = [each for each in custom.worker_pool_specs if each.replica_count]
        machine, package = pools[0].machine_spec, pools[0].python_package_spec
        container, mixed = pools[0].container_spec, _name_machines(pools)
        words = [*package.args, *container.args]
        words += [word for part in container.command for word in part.split()]
        # types/custom_job.py, base_output_directory, says where below it a job leaves what.
        base = custom.base_output_directory.output_uri_prefix.rstrip("/")
        code = [*package.package_uris, *(f"gs://{w[5:]}" for w in words if w.startswith("/gcs/"))]
        return JobSpec(
            name=job.display_name,
            machine=mixed or machine.machine_type,
            replicas=sum(int(each.replica_count) for each in pools),
            gpu=machine.accelerator_type.name if machine.accelerator_count and not mixed else None,
            gpu_count=0 if mixed else machine.accelerator_count,
            spot=custom.scheduling.strategy.name == "SPOT",
            flags=dict(
                word[2:].split("=", 1) for word in words if word[:2] == "--" and "=" in word
            ),
            base=base,
            output=f"{base}/model/" if base else "",
            written=(f"{base}/", *code),
        )

    def _custom_job_spec(self, job: Job) -> Any:
        """Return worker pools, scheduling and output. In a pipeline they are free-form JSON."""
        from google.cloud.aiplatform_v1.types import CustomJobSpec

        if self.is_tuning(job):
            return job.gca_resource.trial_job_spec
        if not _is_pipeline(job):
            return job.gca_resource.job_spec
        inputs = job.to_dict()["trainingTaskInputs"]
        return CustomJobSpec.from_json(json.dumps(inputs), ignore_unknown_fields=True)

    # ---- how far it is --------------------------------------------------------------------------
    def refresh(self, job: Job) -> None:
        """Ask the service how the job is; what the other methods tell is as last seen."""
        _ = job.state  # the SDK asks whenever this is read

    def status(self, job: Job) -> JobStatus:
        """Return how far the job is."""
        seen = job.gca_resource  # the SDK's own job.start_time would ask the service once more
        name = str(seen.state.name)
        word = name.rpartition("STATE_")[2]  # the same for JOB_ and PIPELINE_STATE_RUNNING
        return JobStatus(
            state=STATES[word],
            service_state=name,
            word=word,
            times=Times(seen.create_time, seen.start_time, seen.end_time),
            trials=len(job.trials) if self.is_tuning(job) else None,
        )

    def looks_at(self, job: Job) -> Iterator[tuple[JobStatus, Sequence[Epoch]]]:
        """Yield what each look at a job shows, of its machines first, until it has ended."""
        output, stops = self.spec(job).output, Stops()

        def look(at: Job) -> tuple[JobStatus, list[Epoch]]:
            now = self.status(at)
            started = bool(now.times.started)
            count = stops.note(now.state, started)
            epochs = self._epochs_at(output) if started and output else []
            return replace(now, interruptions=count), epochs

        yield self.status(job), []
        machines = self.backing_job(job)
        while _is_pipeline(machines) and not self._has_ended(job):
            yield look(job)
            watching.pause()
            machines = self.backing_job(job)
        for each in (machines, job):
            while not self._has_ended(each):
                yield look(machines)
                watching.pause()
        yield look(machines)

    def _has_ended(self, job: Job) -> bool:
        self.refresh(job)
        return self.status(job).state in ENDED

    def _epochs_at(self, output: str) -> list[Epoch]:
        """Return the epochs in the results that a job is writing."""
        return epochs_in(self.read_text(output + "history.csv") or "")

    def failure_reason(self, job: Job) -> str:
        """Return what the service says went wrong, in sentences."""
        return in_short(str(job.gca_resource.error.message) or "the service gives no reason")

    def cancel(self, job: Job) -> None:
        """Ask the service to end the job."""
        job.cancel()

    # ---- tuning jobs ----------------------------------------------------------------------------
    def search(self, job: Tuning) -> Search:
        """Return what a tuning job searches, and its trials."""
        return studies.search_of(job.gca_resource, self.spec(job).base)

    def trial_job(self, name: str) -> Job:
        """Return the custom job that a trial is."""
        from google.cloud import aiplatform

        return cast("Job", aiplatform.CustomJob.get(name))

    def trial_reason(self, trial: Trial) -> str:
        """Return why a trial has no result."""
        return trial.reason

    # ---- what it costs, and what it leaves ------------------------------------------------------
    def estimate(self, spec: JobSpec, hours: float) -> Estimate:
        """Return what a job's machines cost in the session's region."""
        return estimate_cost(
            spec.machine,
            spec.gpu,
            spec.replicas,
            hours=hours,
            gpu_count=spec.gpu_count or 1,
            region=self.session.region,
        )

    def read_text(self, uri: str) -> str | None:
        """Return the text of an object; None if it is not there (yet)."""
        return storage.read_text(self.session, uri)

    def fetch(self, uri: str, folder: Path) -> Path:
        """Copy the results at a URI into a folder, and return that."""
        return storage.download(self.session, uri, folder)


def _is_pipeline(job: Job) -> bool:
    """Tell whether the job is a training pipeline, behind which there is a custom job."""
    return "/trainingPipelines/" in job.resource_name


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
