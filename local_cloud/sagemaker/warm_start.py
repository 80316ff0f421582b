"""Warm start: a tuning job that begins with what others have found.

Source: "Run a warm start hyperparameter tuning job" in the developer guide (read 2026).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from local_cloud.engine.search import Parameter, Trial, Value
from local_cloud.engine.study import Aim, Study
from local_cloud.sagemaker import ranges
from local_cloud.sagemaker.request import invalid

Json = dict[str, Any]

SAME = "IdenticalDataAndAlgorithm"


def parents(start: Json) -> list[str]:
    """The names of the tuning jobs of a WarmStartConfig."""
    found = [
        one.get("HyperParameterTuningJobName", "")
        for one in start["ParentHyperParameterTuningJobs"]
    ]
    if len(set(found)) < len(found):
        raise invalid("ParentHyperParameterTuningJobs names one of them twice")
    return found


def warmed(aim: Aim, asked: Json, found: Sequence[tuple[Json, Study]]) -> Aim:
    """The aim with the trials of its parents: what was asked of each, and its study."""
    same = asked["WarmStartConfig"]["WarmStartType"] == SAME
    if asked["HyperParameterTuningJobConfig"]["Strategy"] not in ("Bayesian", "Random"):
        raise invalid("WarmStartConfig is for the strategies Bayesian and Random")
    for parent, study in found:
        _check(asked, parent, study, same)
    earlier = tuple(
        trial for parent, study in found for trial in _trials(aim.parameters, parent, study)
    )
    return replace(aim, earlier=earlier, alike=same)


def _check(asked: Json, parent: Json, study: Study, same: bool) -> None:
    if not study.state.ended:
        raise invalid(f"The parent tuning job {study.id} has not ended: wait for it, or stop it")
    if _objective(asked) != _objective(parent):
        raise invalid(f"The objective is not that of the parent tuning job {study.id}")
    if len(_names(asked)) != len(_names(parent)):
        raise invalid(
            f"The tuning job has {len(_names(asked))} hyperparameters, static and tuned, and its"
            f" parent {study.id} has {len(_names(parent))}: their number cannot change"
        )
    if same and _sources(asked) != _sources(parent):
        raise invalid(
            f"{SAME}: the training image or the input data are not those of the parent tuning job"
            f" {study.id}; TransferLearning allows that"
        )


def _objective(asked: Json) -> Any:
    return asked["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"]


def _sources(asked: Json) -> Any:
    """Image and data; the SDK sends its own scripts to a new place every time."""
    definition = asked["TrainingJobDefinition"]
    channels = {
        channel["ChannelName"]: channel["DataSource"]
        for channel in definition.get("InputDataConfig") or []
        if channel["ChannelName"] not in ("code", "sm_drivers")
    }
    return definition["AlgorithmSpecification"].get("TrainingImage"), channels


def _names(asked: Json) -> set[str]:
    """The hyperparameters, static and tuned."""
    families = (asked["HyperParameterTuningJobConfig"].get("ParameterRanges") or {}).values()
    tuned = {one["Name"] for family in families for one in family or []}
    return tuned | (asked["TrainingJobDefinition"].get("StaticHyperParameters") or {}).keys()


def _trials(parameters: Sequence[Parameter], parent: Json, study: Study) -> Iterator[Trial]:
    """The trials that lie in the new ranges; what was static then counts with its one value."""
    static = parent["TrainingJobDefinition"].get("StaticHyperParameters") or {}
    for run in study.runs:
        said = {**static, **{name: ranges.text(value) for name, value in run.values.items()}}
        values: dict[str, Value] = {}
        for parameter in parameters:
            value = ranges.read(parameter, said.get(parameter.name, ""))
            if value is not None:
                values[parameter.name] = value
        if run.result is not None and len(values) == len(parameters):
            yield Trial(values, run.result)
