"""Read a tuning job's trials from the service, and follow them until it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from AWS_helpers import describe, waiting
from AWS_helpers.describe import value_or_none
from AWS_helpers.session import boto, current_session, refusals
from lesson import target
from lesson.jobs import results, states, studies, tuning, watching
from lesson.jobs.spec import Times
from lesson.jobs.studies import Between, OneOf, Space, Study, Trial

if TYPE_CHECKING:
    from sagemaker.core.resources import TrainingJob

    from AWS_helpers.describe import Tuning

SCALES = {"Logarithmic": "log", "ReverseLogarithmic": "reverse log"}


def study_of(job: Tuning, request: Mapping[str, Any]) -> Study:
    """Return the study that a tuning job is, and its trials, for which the service is asked."""
    spec, now = describe.spec(job), describe.status(job)
    config = job.hyper_parameter_tuning_job_config
    objective = config.hyper_parameter_tuning_job_objective
    space = _space(config.parameter_ranges)
    found = enumerate(describe.trials_of(job), 1)
    trials = tuple(_trial(number, seen, space, base=spec.base) for number, seen in found)
    hour = partial(waiting.estimate, spec)
    return Study(
        place=results.place(describe.SERVICE),
        metric=objective.metric_name.replace(":", "_"),  # the name on Vertex AI, too
        goal=objective.type.lower(),
        trials=trials,
        planned=int(config.resource_limits.max_number_of_training_jobs),
        space=space,
        name=spec.name,
        state=now.state,
        service_state=now.word,
        seconds=now.times.seconds(),
        cost=watching.cost(hour, *(trial.seconds for trial in trials)),
        job=job,
        request=request,
    )


def follow(job: Tuning, request: Mapping[str, Any]) -> Study:
    """Show the trials until a tuning job ends; fetch the best trial's results."""

    def look() -> Study:
        describe.refresh(job)
        return study_of(job, request)

    name = describe.spec(job).name
    with refusals(f"watching {name}"):
        study = tuning.follow(look, watching.PAUSE[target()], trial_reason, name=name)
        if not study.trials_with_result:
            return study
        best = waiting.complete(waiting.run_of(trial_job(study.best.name), request))
        return replace(study, run=best)


def trial_job(name: str) -> TrainingJob:
    """Return the training job that a trial is."""
    from sagemaker.core.resources import TrainingJob

    found: TrainingJob = TrainingJob.get(name, session=boto(), region=current_session().region)
    return found


def trial_reason(trial: Trial) -> str:
    """Say why a trial has no result: of a script that failed, its own words are in its log."""
    job = trial_job(trial.name)
    if describe.status(job).state == states.FAILED:
        return describe.failure_reason(job)
    return f"{trial.reason}. Its log: {describe.log_page(job)}"


def _trial(number: int, seen: Mapping[str, Any], space: Space, *, base: str) -> Trial:
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
        seconds=Times(seen["CreationTime"], started, seen.get("TrainingEndTime")).machine_seconds(),
        reason=describe.essence(seen.get("FailureReason", "")),
        artefacts=f"{base}/{name}/output/model.tar.gz",
    )


def _space(ranges: Any) -> Space:
    """Return the space; SageMaker sends numbers to choose from back as texts."""
    space: dict[str, Between | OneOf] = {}
    for one in value_or_none(ranges.continuous_parameter_ranges) or []:
        scale = SCALES.get(value_or_none(one.scaling_type), "linear")
        space[one.name] = Between(float(one.min_value), float(one.max_value), scale)
    for one in value_or_none(ranges.integer_parameter_ranges) or []:
        scale = SCALES.get(value_or_none(one.scaling_type), "linear")
        space[one.name] = Between(int(one.min_value), int(one.max_value), scale)
    for one in value_or_none(ranges.categorical_parameter_ranges) or []:
        space[one.name] = OneOf(tuple(one.values))
    return space
