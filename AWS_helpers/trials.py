"""A tuning job as it stands, read from the SDK's own object; and watched to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from AWS_helpers import looking, watching
from AWS_helpers.looking import known
from AWS_helpers.session import boto, connected, refusals
from lesson import states, studies, target, tuning
from lesson.jobs import Times
from lesson.runs import Run
from lesson.studies import Between, OneOf, Space, Study, Trial

if TYPE_CHECKING:
    from sagemaker.core.resources import TrainingJob

    from AWS_helpers.looking import Tuning

SCALES = {"Logarithmic": "log", "ReverseLogarithmic": "reverse log"}


def study_of(job: Tuning, request: Mapping[str, Any]) -> Study:
    """The study as last seen; its trials are asked for."""
    config, asked = job.hyper_parameter_tuning_job_config, looking.asked(job)
    objective = config.hyper_parameter_tuning_job_objective
    space = _space(config.parameter_ranges)
    found = enumerate(looking.trials_of(job), 1)
    trials = tuple(_trial(number, seen, space, asked.base) for number, seen in found)
    return Study(
        place=watching.PLACE[target()],
        metric=objective.metric_name.replace(":", "_"),  # the name on Vertex AI, too
        goal=objective.type.lower(),
        trials=trials,
        seconds=looking.times(job).seconds(),
        cost=watching.cost_of(asked, sum(trial.seconds for trial in trials)),
        job=job,
        request=request,
        name=asked.name,
        state=looking.state(job),
        service_state=looking.word(job),
        planned=int(config.resource_limits.max_number_of_training_jobs),
        space=space,
    )


def _trial(number: int, seen: Mapping[str, Any], space: Space, base: str) -> Trial:
    """A trial: HyperParameterTrainingJobSummary in the API reference."""
    name = seen["TrainingJobName"]
    started = seen.get("TrainingStartTime")
    final = seen.get("FinalHyperParameterTuningJobObjectiveMetric", {})
    word = seen["TrainingJobStatus"]
    state = looking.STATES[word]
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
        reason=looking.essence(seen.get("FailureReason", "")),
        artefacts=f"{base}/{name}/output/model.tar.gz",
    )


def _space(ranges: Any) -> Space:
    """What was asked for; numbers to choose from come back as the texts that SageMaker has."""
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


def follow(job: Tuning, request: Mapping[str, Any]) -> Study:
    """Show the trials until a tuning job ends; returns the study, with the best trial's results."""

    def look() -> Study:
        looking.refresh(job)
        return study_of(job, request)

    name = looking.name_of(job)
    with refusals(f"watching {name}"):
        study = tuning.follow(look, watching.PAUSE[target()], _why, name)
        return tuning.with_run(study, lambda best: _run(best, request))


def _run(name: str, request: Mapping[str, Any]) -> Run:
    """The run that a trial was, with its results on this machine."""
    job = _training_job(name)
    return watching.complete(job, watching.run_of(job, request))


def _why(trial: Trial) -> str:
    """Why a trial has no result: of a script that failed, its own words are in its log."""
    job = _training_job(trial.name)
    if looking.state(job) == states.FAILED:
        return looking.why(job)
    return f"{trial.reason}. Its log: CloudWatch Logs, {looking.LOG_GROUP}, {trial.name}/"


def _training_job(name: str) -> TrainingJob:
    from sagemaker.core.resources import TrainingJob

    found: TrainingJob = TrainingJob.get(name, session=boto(), region=connected().region)
    return found
