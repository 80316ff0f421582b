"""Read a tuning job's trials from the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from AWS_helpers import describe
from AWS_helpers.describe import known
from AWS_helpers.session import boto, connected
from lesson import states, studies
from lesson.jobs import Times
from lesson.studies import Between, OneOf, Space, Study, Trial

if TYPE_CHECKING:
    from sagemaker.core.resources import TrainingJob

    from AWS_helpers.describe import Tuning

SCALES = {"Logarithmic": "log", "ReverseLogarithmic": "reverse log"}


def study_of(job: Tuning) -> Study:
    """Return what a tuning job searches, and its trials, for which the service is asked."""
    config, base = job.hyper_parameter_tuning_job_config, describe.spec(job).base
    objective = config.hyper_parameter_tuning_job_objective
    space = _space(config.parameter_ranges)
    found = enumerate(describe.trials_of(job), 1)
    return Study(
        place="",
        metric=objective.metric_name.replace(":", "_"),  # the name on Vertex AI, too
        goal=objective.type.lower(),
        trials=tuple(_trial(number, seen, space, base) for number, seen in found),
        planned=int(config.resource_limits.max_number_of_training_jobs),
        space=space,
    )


def trial_job(name: str) -> TrainingJob:
    """Return the training job that a trial is."""
    from sagemaker.core.resources import TrainingJob

    found: TrainingJob = TrainingJob.get(name, session=boto(), region=connected().region)
    return found


def trial_reason(trial: Trial) -> str:
    """Say why a trial has no result: of a script that failed, its own words are in its log."""
    job = trial_job(trial.name)
    if describe.status(job).state == states.FAILED:
        return describe.failure_reason(job)
    return f"{trial.reason}. Its log: CloudWatch Logs, {describe.LOG_GROUP}, {trial.name}/"


def _trial(number: int, seen: Mapping[str, Any], space: Space, base: str) -> Trial:
    """Return a trial: HyperParameterTrainingJobSummary in the API reference."""
    name = seen["TrainingJobName"]
    started = seen.get("TrainingStartTime")
    final = seen.get("FinalHyperParameterTuningJobObjectiveMetric", {})
    word = seen["TrainingJobStatus"]
    state = describe.STATES[word]
    if state == states.RUNNING and not started:
        state = states.QUEUED
    if seen.get("ObjectiveStatus") == "Failed" and state == states.SUCCEEDED:
        state = states.FAILED  # it trained, but its log has no such number
    return Trial(
        number=number,
        name=name,
        state=state,
        service_state=word,
        values=studies.values(space, seen["TunedHyperParameters"]),
        result=final.get("Value"),
        seconds=Times(seen["CreationTime"], started, seen.get("TrainingEndTime")).running(),
        reason=describe.essence(seen.get("FailureReason", "")),
        artefacts=f"{base}/{name}/output/model.tar.gz",
    )


def _space(ranges: Any) -> Space:
    """Return the space; SageMaker sends numbers to choose from back as texts."""
    space: dict[str, Between | OneOf] = {}
    for one in known(ranges.continuous_parameter_ranges) or []:
        scale = SCALES.get(known(one.scaling_type), "linear")
        space[one.name] = Between(float(one.min_value), float(one.max_value), scale)
    for one in known(ranges.integer_parameter_ranges) or []:
        scale = SCALES.get(known(one.scaling_type), "linear")
        space[one.name] = Between(int(one.min_value), int(one.max_value), scale)
    for one in known(ranges.categorical_parameter_ranges) or []:
        space[one.name] = OneOf(tuple(one.values))
    return space
