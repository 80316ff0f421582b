"""Warm start: a tuning job that begins with what others have found.

Source: "Run a warm start hyperparameter tuning job" in the developer guide (read 2026).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.amazon.sagemaker.tuning import study_spec
from local_cloud.engine.studies.search import Parameter, Trial, Value
from local_cloud.engine.studies.spec import Study, StudySpec
from local_cloud.json_types import Json

SAME = "IdenticalDataAndAlgorithm"


def parents(start: Json) -> list[str]:
    """Return the names of the tuning jobs of a WarmStartConfig."""
    names = [
        one.get("HyperParameterTuningJobName", "")
        for one in start["ParentHyperParameterTuningJobs"]
    ]
    if len(set(names)) < len(names):
        raise invalid("ParentHyperParameterTuningJobs names one of them twice")
    return names


def add_parents(spec: StudySpec, request: Json, parents: Sequence[tuple[Json, Study]]) -> StudySpec:
    """Return the spec with the trials of its parents: what was asked of each, and its study."""
    same = request["WarmStartConfig"]["WarmStartType"] == SAME
    if request["HyperParameterTuningJobConfig"]["Strategy"] not in ("Bayesian", "Random"):
        raise invalid("WarmStartConfig is for the strategies Bayesian and Random")
    for parent, study in parents:
        _check(request, parent, study, same=same)
    earlier = tuple(
        trial for parent, study in parents for trial in _trials(spec.parameters, parent, study)
    )
    return replace(spec, earlier=earlier, alike=same)


def _check(request: Json, parent: Json, study: Study, *, same: bool) -> None:
    if not study.state.ended:
        raise invalid(f"The parent tuning job {study.id} has not ended: wait for it, or stop it")
    if _objective(request) != _objective(parent):
        raise invalid(f"The objective is not that of the parent tuning job {study.id}")
    if len(_names(request)) != len(_names(parent)):
        raise invalid(
            f"The tuning job has {len(_names(request))} hyperparameters, static and tuned, and its"
            f" parent {study.id} has {len(_names(parent))}: their number cannot change"
        )
    if same and _sources(request) != _sources(parent):
        raise invalid(
            f"{SAME}: the training image or the input data are not those of the parent tuning job"
            f" {study.id}; TransferLearning allows that"
        )


def _objective(request: Json) -> Any:
    return request["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"]


def _sources(request: Json) -> Any:
    """Return image and data; the SDK sends its own scripts to a new place every time."""
    definition = request["TrainingJobDefinition"]
    channels = {
        channel["ChannelName"]: channel["DataSource"]
        for channel in definition.get("InputDataConfig") or []
        if channel["ChannelName"] not in ("code", "sm_drivers")
    }
    return definition["AlgorithmSpecification"].get("TrainingImage"), channels


def _names(request: Json) -> set[str]:
    """Return the hyperparameters, static and tuned."""
    families = (request["HyperParameterTuningJobConfig"].get("ParameterRanges") or {}).values()
    tuned = {one["Name"] for family in families for one in family or []}
    return tuned | (request["TrainingJobDefinition"].get("StaticHyperParameters") or {}).keys()


def _trials(parameters: Sequence[Parameter], parent: Json, study: Study) -> Iterator[Trial]:
    """Yield the trials that lie in the new ranges.

    What was static then counts with its one value.
    """
    static = parent["TrainingJobDefinition"].get("StaticHyperParameters") or {}
    for trial in study.trials:
        said = {**static, **{name: study_spec.text(value) for name, value in trial.values.items()}}
        values: dict[str, Value] = {}
        for parameter in parameters:
            value = study_spec.read(parameter, said.get(parameter.name, ""))
            if value is not None:
                values[parameter.name] = value
        if trial.result is not None and len(values) == len(parameters):
            yield Trial(values, trial.result)
