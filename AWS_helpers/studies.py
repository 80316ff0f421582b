"""What a tuning job of SageMaker searches, and its trials, from the service's own answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from AWS_helpers.failures import essence
from AWS_helpers.fields import value_or_none
from AWS_helpers.states import STATES
from lesson.jobs import states, studies
from lesson.jobs.cloud import Search
from lesson.jobs.spec import Times
from lesson.jobs.studies import Between, OneOf, Space, Trial

SCALES = {"Logarithmic": "log", "ReverseLogarithmic": "reverse log"}


def search_of(config: Any, trials: Sequence[Mapping[str, Any]], base: str) -> Search:
    """Return what a tuning job searches.

    `config` is its HyperParameterTuningJobConfig, `trials` are its training jobs as the service
    lists them, and `base` is the URI below which they write.
    """
    objective = config.hyper_parameter_tuning_job_objective
    space = _space(config.parameter_ranges)
    return Search(
        metric=objective.metric_name.replace(":", "_"),  # the name on Vertex AI, too
        goal=objective.type.lower(),
        planned=int(config.resource_limits.max_number_of_training_jobs),
        space=space,
        trials=tuple(
            _trial(number, seen, space, base=base) for number, seen in enumerate(trials, 1)
        ),
    )


def _trial(number: int, seen: Mapping[str, Any], space: Space, *, base: str) -> Trial:
    """Return a trial: HyperParameterTrainingJobSummary in the API reference."""
    name = seen["TrainingJobName"]
    started = seen.get("TrainingStartTime")
    final = seen.get("FinalHyperParameterTuningJobObjectiveMetric", {})
    word = seen["TrainingJobStatus"]
    state = STATES[word]
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
        reason=essence(seen.get("FailureReason", "")),
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
