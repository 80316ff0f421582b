"""SageMaker's jobs, as `lesson.jobs` asks for them: describe them, watch them, fetch, price."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeGuard

from AWS_helpers import storage, studies
from AWS_helpers.costs import estimate_cost
from AWS_helpers.failures import essence, last_words
from AWS_helpers.fields import value_or_none
from AWS_helpers.logs import Log
from AWS_helpers.session import Session, current_session, refusals
from AWS_helpers.states import STAGES, STATES
from lesson.jobs import watching
from lesson.jobs.cloud import Search
from lesson.jobs.epochs import Epoch, epoch_of
from lesson.jobs.spec import JobSpec, JobStatus, Times
from lesson.jobs.states import ENDED, FAILED, RUNNING
from lesson.jobs.studies import Trial
from lesson.money.costs import Estimate

if TYPE_CHECKING:
    from sagemaker.core.resources import HyperParameterTuningJob, TrainingJob

    Tuning: TypeAlias = HyperParameterTuningJob
    Job: TypeAlias = TrainingJob | Tuning


def cloud() -> SageMaker:
    """Return SageMaker as connect() has set it up."""
    return SageMaker(current_session())


@dataclass(frozen=True)
class SageMaker:
    """SageMaker, as a session uses it: a lesson.jobs.cloud.Cloud."""

    service: ClassVar[str] = "SageMaker"
    session: Session

    @property
    def uri(self) -> str:
        """Return the URI of the session's bucket."""
        return self.session.uri

    def refusals(self, what: str) -> AbstractContextManager[None]:
        """Say in one sentence what the service refused."""
        return refusals(what)

    # ---- which jobs there are -------------------------------------------------------------------
    def every(self) -> Iterator[Job]:
        """Yield the training and tuning jobs of the region, newest first, without the trials.

        Each costs a request, a trial too.
        """
        from sagemaker.core.resources import HyperParameterTuningJob, TrainingJob

        order: Any = {"sort_by": "CreationTime", "sort_order": "Descending"}
        order |= {"session": self.session.boto, "region": self.session.region}
        trainings = (
            job for job in TrainingJob.get_all(**order) if not value_or_none(job.tuning_job_arn)
        )
        tunings = HyperParameterTuningJob.get_all(**order)
        return heapq.merge(trainings, tunings, key=lambda job: job.creation_time, reverse=True)

    def find(self, name: str) -> Job | None:
        """Return the training job, or else the tuning job, of this name; None without one."""
        from botocore.exceptions import ClientError
        from sagemaker.core.resources import HyperParameterTuningJob, TrainingJob

        for kind in (TrainingJob, HyperParameterTuningJob):
            try:
                return kind.get(name, session=self.session.boto, region=self.session.region)
            except ClientError as answer:
                code = answer.response["Error"]["Code"]
                if code not in ("ValidationException", "ResourceNotFound"):
                    raise
        return None

    def is_job(self, thing: Any) -> bool:
        """Tell whether something is an SDK's job at all."""
        return hasattr(thing, "training_job_name") or self.is_tuning(thing)

    def is_tuning(self, job: Job) -> TypeGuard[Tuning]:
        """Tell whether it is a tuning job, behind which there is a training job for each trial."""
        return _is_tuning(job)

    def backing_job(self, job: Job) -> Job:
        """Return the job that has the machines: of a training job, itself."""
        return job

    def arn_of(self, job: Job) -> str:
        """Return the job's name among all of Amazon's resources."""
        tuning = self.is_tuning(job)
        return str(job.hyper_parameter_tuning_job_arn if tuning else job.training_job_arn)

    # ---- what a job was asked to do -------------------------------------------------------------
    def spec(self, job: Job) -> JobSpec:
        """Return what the job was asked to do; of a tuning job, what each of its trials was."""
        definition, name, tuning = _definition(job), _name_of(job), self.is_tuning(job)
        flags = definition.static_hyper_parameters if tuning else definition.hyper_parameters
        checkpoints = value_or_none(definition.checkpoint_config)
        machine, replicas = _instances(definition)
        base = str(definition.output_data_config.s3_output_path).rstrip("/")
        own = f"{base}/" if tuning else f"{base}/{name}/"  # a tuning job's base is its own
        return JobSpec(
            name=name,
            machine=machine,
            replicas=replicas,
            spot=value_or_none(definition.enable_managed_spot_training) or False,
            flags=value_or_none(flags) or {},
            base=base,
            output=f"{base}/{name}/output/model.tar.gz",
            written=(own, f"{str(checkpoints.s3_uri).rstrip('/')}/") if checkpoints else (own,),
        )

    # ---- how far it is --------------------------------------------------------------------------
    def refresh(self, job: Job) -> None:
        """Ask the service how the job is; what the other methods tell is as last seen."""
        job.refresh()

    def status(self, job: Job) -> JobStatus:
        """Return how far the job is.

        The time between start and end is billed; of a tuning job, that of its trials is.
        """
        if _is_tuning(job):
            name = str(job.hyper_parameter_tuning_job_status)
            ended = value_or_none(job.hyper_parameter_tuning_end_time)
            times = Times(job.creation_time, job.creation_time, ended)
            counts = vars(job.training_job_status_counters).values()
            trials = sum(value_or_none(count) or 0 for count in counts)
            return JobStatus(STATES[name], name, name, times, trials=trials)
        name = str(job.training_job_status)
        word = str(value_or_none(job.secondary_status) or name)
        state = STAGES.get(word, RUNNING) if name == "InProgress" else STATES[name]
        steps = value_or_none(job.secondary_status_transitions) or []
        interruptions = sum(step.status == "Interrupted" for step in steps)
        return JobStatus(state, name, word, _times(job, state), interruptions)

    def looks_at(self, job: TrainingJob) -> Iterator[tuple[JobStatus, Sequence[Epoch]]]:
        """Yield what each look at a job shows until it has ended; the log is read last."""
        log, epochs = self.log_of(job), dict[int, Epoch]()
        while True:
            self.refresh(job)
            now = self.status(job)
            for epoch in filter(None, map(epoch_of, log.news())):
                epochs[epoch.number] = epoch  # an interrupted job repeats some
            yield now, list(epochs.values())
            if now.state in ENDED:
                return
            watching.pause()

    def log_of(self, job: TrainingJob) -> Log:
        """Return what the job prints."""
        return Log(self.session.client("logs"), str(job.training_job_name))

    def failure_reason(self, job: TrainingJob) -> str:
        """Return what went wrong, in sentences: the service's reason, the script's words, the log.

        The service's reason holds the traceback of the SDK's driver, which only says that the
        script failed; what the script itself said last is in the log.
        """
        said = essence(value_or_none(job.failure_reason) or "the service gives no reason")
        own = last_words(self.log_of(job).news())
        return " ".join(
            [
                f"{said}.",
                *([f"Its last line: {own.rstrip('.')}."] if own and own not in said else []),
                f"Its log: {_log_page(job)}",
            ]
        )

    def cancel(self, job: Job) -> None:
        """Ask the service to end the job."""
        job.stop()

    # ---- tuning jobs ----------------------------------------------------------------------------
    def search(self, job: Tuning) -> Search:
        """Return what a tuning job searches, and its trials, for which the service is asked."""
        config = job.hyper_parameter_tuning_job_config
        return studies.search_of(config, self.trials_of(job), self.spec(job).base)

    def trials_of(self, job: Tuning) -> list[dict[str, Any]]:
        """Return the training jobs of a tuning job, as the service lists them, oldest first.

        By boto3: the SDK's own get_all_training_jobs() asks for ten at a time.
        """
        api = self.session.client("sagemaker")
        pages = api.get_paginator("list_training_jobs_for_hyper_parameter_tuning_job").paginate(
            HyperParameterTuningJobName=job.hyper_parameter_tuning_job_name,
            PaginationConfig={"PageSize": 100},
        )
        trials = [trial for page in pages for trial in page["TrainingJobSummaries"]]
        return sorted(trials, key=lambda trial: (trial["CreationTime"], trial["TrainingJobName"]))

    def trial_job(self, name: str) -> TrainingJob:
        """Return the training job that a trial is."""
        from sagemaker.core.resources import TrainingJob

        session = self.session
        job: TrainingJob = TrainingJob.get(name, session=session.boto, region=session.region)
        return job

    def trial_reason(self, trial: Trial) -> str:
        """Return why a trial has no result: a script that failed says so itself, in its log."""
        job = self.trial_job(trial.name)
        if self.status(job).state == FAILED:
            return self.failure_reason(job)
        return f"{trial.reason}. Its log: {_log_page(job)}"

    # ---- what it costs, and what it leaves ------------------------------------------------------
    def estimate(self, spec: JobSpec, hours: float) -> Estimate:
        """Return what a job's machines cost in the session's region."""
        return estimate_cost(
            spec.machine, replicas=spec.replicas, hours=hours, region=self.session.region
        )

    def read_text(self, uri: str) -> str | None:
        """Return the text of an object; None if it is not there (yet)."""
        return storage.read_text(self.session, uri)

    def fetch(self, uri: str, folder: Path) -> Path:
        """Copy the results at a URI into a folder, and return that."""
        return storage.download(self.session, uri, folder)


def _is_tuning(job: Job) -> TypeGuard[Tuning]:
    return hasattr(job, "hyper_parameter_tuning_job_name")


def _name_of(job: Job) -> str:
    return str(job.hyper_parameter_tuning_job_name if _is_tuning(job) else job.training_job_name)


def _log_page(job: TrainingJob) -> str:
    """Return the address of the job's log: in CloudWatch, or in the local cloud's console."""
    from sagemaker.train.common_utils import metrics_visualizer

    return str(metrics_visualizer.get_cloudwatch_logs_url(job.training_job_arn))


def _definition(job: Job) -> Any:
    """Return what has the job's fields; a tuning job has one for each algorithm, mostly one."""
    if not _is_tuning(job):
        return job
    return (
        value_or_none(job.training_job_definition) or value_or_none(job.training_job_definitions)[0]
    )


def _instances(what: Any) -> tuple[str, int]:
    """Return the instances' type and number, also of jobs that were sent in other ways.

    An instance group is a part of the job; an instance configuration is one of those it may get.
    """
    places = (
        getattr(what, f"{kind}resource_config", None) for kind in ("", "hyper_parameter_tuning_")
    )
    resources = next(filter(None, map(value_or_none, places)), None)
    if resources is None:
        return "serverless", 0
    for field in ("instance_groups", "instance_configs"):
        given = getattr(resources, field, None)
        several = value_or_none(given)
        if several:
            parts = several if field == "instance_groups" else several[:1]
            types = dict.fromkeys(str(part.instance_type) for part in parts)
            return " and ".join(types), sum(int(part.instance_count) for part in parts)
    return str(resources.instance_type), int(resources.instance_count)


def _times(job: TrainingJob, state: str) -> Times:
    """Return when the job was made, when its machines started and when it ended."""
    ended: datetime | None = value_or_none(job.training_end_time)
    if state in ENDED and ended is None:  # one that was stopped before it had machines
        ended = job.last_modified_time
    return Times(job.creation_time, value_or_none(job.training_start_time), ended)
