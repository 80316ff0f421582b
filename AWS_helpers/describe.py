"""Describe a job: what it was asked to do and how far it is, from the SDK's object and its log."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from AWS_helpers.session import boto, client, current_session, refusals
from lesson.jobs import states
from lesson.jobs.lookup import job_in, no_such_job, not_a_job
from lesson.jobs.spec import JobSpec, JobStatus, Times
from lesson.jobs.states import ENDED

if TYPE_CHECKING:
    from datetime import datetime

    from sagemaker.core.resources import HyperParameterTuningJob, TrainingJob

    Tuning: TypeAlias = HyperParameterTuningJob
    Job: TypeAlias = TrainingJob | Tuning

SERVICE = "SageMaker"
STATES = {
    "InProgress": states.RUNNING,
    "Completed": states.SUCCEEDED,
    "Failed": states.FAILED,
    "DeleteFailed": states.FAILED,
    "Stopping": states.CANCELLING,
    "Deleting": states.CANCELLING,
    "Stopped": states.CANCELLED,
}
# What InProgress is in more detail, of a training job; not listed here: running.
STAGES = {
    "Pending": states.QUEUED,
    "Interrupted": states.QUEUED,  # spot machines were taken away; it waits for others
    "Starting": states.STARTING,
    "LaunchingMLInstances": states.STARTING,
    "PreparingTrainingStack": states.STARTING,
    "Downloading": states.STARTING,
    "DownloadingTrainingImage": states.STARTING,
}
LOG_GROUP = "/aws/sagemaker/TrainingJobs"
EXCEPTION = re.compile(r"[\w.]+(Error|Exception|Interrupt|Exit)\b")
OWN_SENTENCE = "train_nn.py: "  # so begins what the script says when it refuses its input


# ---- which job ----------------------------------------------------------------------------------
def find_job(name: str) -> Job:
    """Return the training job, or else the tuning job, of this name; LessonError without one."""
    from botocore.exceptions import ClientError
    from sagemaker.core.resources import HyperParameterTuningJob, TrainingJob

    with refusals(f"looking for {name}"):
        for kind in (TrainingJob, HyperParameterTuningJob):
            try:
                return kind.get(name, session=boto(), region=current_session().region)
            except ClientError as answer:
                code = answer.response["Error"]["Code"]
                if code not in ("ValidationException", "ResourceNotFound"):
                    raise
    raise no_such_job(name)


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
    return hasattr(thing, "training_job_name") or is_tuning(thing)


def backing_job(job: Job) -> Job:
    """Return the job that has the machines: of a training job, itself."""
    return job


def is_tuning(job: Job) -> TypeGuard[Tuning]:
    """Tell whether it is a tuning job, behind which there is a training job for each trial."""
    return hasattr(job, "hyper_parameter_tuning_job_name")


def every() -> Iterator[Job]:
    """Yield the training and tuning jobs of the region, newest first, without the trials.

    Each costs a request, a trial too.
    """
    from sagemaker.core.resources import HyperParameterTuningJob, TrainingJob

    order: Any = {"sort_by": "CreationTime", "sort_order": "Descending"}
    order |= {"session": boto(), "region": current_session().region}
    trainings = (
        job for job in TrainingJob.get_all(**order) if not value_or_none(job.tuning_job_arn)
    )
    tunings = HyperParameterTuningJob.get_all(**order)
    return heapq.merge(trainings, tunings, key=lambda job: job.creation_time, reverse=True)


def trials_of(job: Tuning) -> list[dict[str, Any]]:
    """Return the training jobs that a tuning job has sent, as the service lists them, oldest first.

    By boto3: the SDK's own get_all_training_jobs() asks for ten at a time.
    """
    pages = client("sagemaker").get_paginator("list_training_jobs_for_hyper_parameter_tuning_job")
    found = pages.paginate(
        HyperParameterTuningJobName=job.hyper_parameter_tuning_job_name,
        PaginationConfig={"PageSize": 100},
    )
    trials = [trial for page in found for trial in page["TrainingJobSummaries"]]
    return sorted(trials, key=lambda trial: (trial["CreationTime"], trial["TrainingJobName"]))


# ---- what it was asked to do --------------------------------------------------------------------
def spec(job: Job) -> JobSpec:
    """Return what the job was asked to do; of a tuning job, what each of its trials was."""
    found, name = _definition(job), name_of(job)
    flags = found.static_hyper_parameters if is_tuning(job) else found.hyper_parameters
    checkpoints = value_or_none(found.checkpoint_config)
    machine, replicas = _instances(found)
    base = str(found.output_data_config.s3_output_path).rstrip("/")
    own = f"{base}/" if is_tuning(job) else f"{base}/{name}/"  # a tuning job's base is its own
    return JobSpec(
        name=name,
        machine=machine,
        replicas=replicas,
        spot=value_or_none(found.enable_managed_spot_training) or False,
        flags=value_or_none(flags) or {},
        base=base,
        output=f"{base}/{name}/output/model.tar.gz",
        written=(own, f"{str(checkpoints.s3_uri).rstrip('/')}/") if checkpoints else (own,),
    )


def _definition(job: Job) -> Any:
    """Return what has the job's fields; a tuning job has one for each algorithm, mostly one."""
    if not is_tuning(job):
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


def name_of(job: Job) -> str:
    """Return the job's name."""
    return str(job.hyper_parameter_tuning_job_name if is_tuning(job) else job.training_job_name)


def arn_of(job: Job) -> str:
    """Return the job's name among all of Amazon's resources."""
    tuning = is_tuning(job)
    return str(job.hyper_parameter_tuning_job_arn if tuning else job.training_job_arn)


def value_or_none(value: Any) -> Any:
    """Return a field of the SDK's object; None where the service has not said anything."""
    from sagemaker.core.utils.utils import Unassigned

    return None if isinstance(value, Unassigned) else value


# ---- how far it is ------------------------------------------------------------------------------
def refresh(job: Job) -> None:
    """Ask the service how the job is; what the other functions tell is as last seen."""
    job.refresh()


def status(job: Job) -> JobStatus:
    """Return how far the job is.

    The time between start and end is what is billed; of a tuning job, that of its trials is.
    """
    if is_tuning(job):
        name = str(job.hyper_parameter_tuning_job_status)
        ended = value_or_none(job.hyper_parameter_tuning_end_time)
        times = Times(job.creation_time, job.creation_time, ended)
        counts = vars(job.training_job_status_counters).values()
        trials = sum(value_or_none(count) or 0 for count in counts)
        return JobStatus(STATES[name], name, name, times, trials=trials)
    name = str(job.training_job_status)
    word = str(value_or_none(job.secondary_status) or name)
    state = STAGES.get(word, states.RUNNING) if name == "InProgress" else STATES[name]
    steps = value_or_none(job.secondary_status_transitions) or []
    interruptions = sum(step.status == "Interrupted" for step in steps)
    return JobStatus(state, name, word, _times(job, state), interruptions)


def _times(job: TrainingJob, state: str) -> Times:
    """Return when the job was made, when its machines started and when it ended."""
    ended: datetime | None = value_or_none(job.training_end_time)
    if state in ENDED and ended is None:  # one that was stopped before it had machines
        ended = job.last_modified_time
    return Times(job.creation_time, value_or_none(job.training_start_time), ended)


class Log:
    """What the instances of a job print, as CloudWatch Logs has it."""

    def __init__(self, name: str) -> None:
        """Begin with the first line."""
        self.prefix, self._since = f"{name}/", 0

    def news(self) -> list[str]:
        """Return the lines since the last call; those of its last moment may come again."""
        logs, lines = client("logs"), []
        try:
            for page in logs.get_paginator("filter_log_events").paginate(
                logGroupName=LOG_GROUP, logStreamNamePrefix=self.prefix, startTime=self._since
            ):
                for event in page["events"]:
                    self._since = max(self._since, event["timestamp"])
                    lines.append(event["message"])
        except logs.exceptions.ResourceNotFoundException:
            pass  # before the first job of an account there is no such group
        return lines


def failure_reason(job: TrainingJob) -> str:
    """Return what went wrong, in sentences: the service's reason, the script's words, the log.

    The service's reason holds the traceback of the SDK's driver, which only says that the script
    failed; what the script itself said last is in the log.
    """
    said = essence(value_or_none(job.failure_reason) or "the service gives no reason")
    own = last_words(Log(job.training_job_name).news())
    return " ".join(
        [
            f"{said}.",
            *([f"Its last line: {own.rstrip('.')}."] if own and own not in said else []),
            f"Its log: {log_page(job)}",
        ]
    )


def log_page(job: TrainingJob) -> str:
    """Return the address of the job's log: in CloudWatch, or in the local cloud's console."""
    from sagemaker.train.common_utils import metrics_visualizer

    return str(metrics_visualizer.get_cloudwatch_logs_url(job.training_job_arn))


def essence(reason: str) -> str:
    """Return the first words of a reason, the script's last, and the exit code."""
    first, _, rest = reason.strip().partition("\n")
    first = first.removesuffix("Traceback (most recent call last):").strip(" :.")
    if said := re.search(r'^ErrorMessage "(.*?)"?\s*^Command', rest, re.DOTALL | re.MULTILINE):
        first += f": {said[1].strip().splitlines()[-1].strip()}" if said[1].strip() else ""
    code = re.search(r"exit code: \d+", rest)
    return f"{first}, {code[0]}" if code else first


def last_words(lines: list[str]) -> str | None:
    """Return what the script said last of itself: its own sentence, or how its traceback ends."""
    own = [line for line in lines if line.startswith(OWN_SENTENCE)]
    if own:
        return own[-1]
    begun = [place for place, line in enumerate(lines) if line.startswith("Traceback ")]
    rest = lines[begun[0] + 1 :] if begun else []
    named = (line for line in rest if EXCEPTION.match(line))
    # One of another name: the first line that is not indented; but the SDK's driver indents none.
    return next(named, next((line for line in rest if line[:1].strip()), None))
