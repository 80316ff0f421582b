"""What a study looks for, in the engine's words, and the values that its trials may have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local_cloud.engine.studies.early_stopping import Rule
from local_cloud.engine.studies.search import Parameter, Value, exists
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources.schema import require
from local_cloud.google.vertex.tuning import study_spec
from local_cloud.json_types import Json

ALMOST = 1e-10  # "the Epsilon of the value matching": types/study.py, DiscreteValueCondition


@dataclass(frozen=True)
class StudyConfig:
    """A study's specification, checked."""

    spec: Json  # as the request had it
    parameters: tuple[Parameter, ...]
    goals: dict[str, bool]  # whether each metric is maximized, by its id
    algorithm: str
    early_stopping: Rule | None
    seed: int

    @classmethod
    def of(cls, study: Json) -> StudyConfig:
        """Read the specification of a study; INVALID_ARGUMENT for one that makes no sense."""
        spec: Json = study.get("studySpec", {})
        parameters = study_spec.read_parameters(spec)
        goals = study_spec.read_goals(spec)
        rule = study_spec.read_stopping_rule(spec)
        if rule and len(goals) > 1:
            raise ApiError(
                "UNIMPLEMENTED",
                "not implemented in the local cloud: early stopping with several metrics",
            )
        algorithm = study_spec.read_algorithm(spec, parameters)
        seed = study_spec.seed(study["displayName"])
        return cls(spec, parameters, goals, algorithm, rule, seed)

    @property
    def metric(self) -> str:
        """Return the id of the first metric."""
        return next(iter(self.goals))

    @property
    def maximize(self) -> bool:
        """Return whether the first metric is maximized."""
        return self.goals[self.metric]

    @property
    def never_repeats(self) -> bool:
        """Return whether no values may be tried twice, where there are not endlessly many."""
        is_endless = any(parameter.kind == "real" for parameter in self.parameters)
        return self.spec.get("observationNoise") == "LOW" and not is_endless

    @property
    def defaults(self) -> dict[str, Value]:
        """Return the values that the first trial has."""
        return {one.name: one.default for one in self.parameters if one.default is not None}

    def is_complete(self, values: Mapping[str, Value]) -> bool:
        """Return whether every parameter that a trial with these values has is among them."""
        return all(one.name in values for one in self.parameters if exists(one, values))

    def read_values(self, given: Sequence[Json], where: str) -> dict[str, Value]:
        """Return the values that a request gives some parameters, checked."""
        checked: dict[str, Value] = {}
        known = {parameter.name for parameter in self.parameters}
        values = {one.get("parameterId", ""): one.get("value") for one in given}
        require(len(values) == len(given), f"{where}.parameters: one is there twice")
        for name in values:
            require(name in known, f"{where}.parameters: the study has no parameter {name!r}")
        for parameter in self.parameters:
            if parameter.name in values:
                checked[parameter.name] = _read_value(parameter, values[parameter.name], where)
        for parameter in self.parameters:
            if parameter.name in checked and parameter.parent in checked:
                fits = exists(parameter, checked)
                why = f"{parameter.parent} is {checked[parameter.parent]}" if not fits else ""
                require(fits, f"{where}.parameters: there is no {parameter.name} where {why}")
        return checked


def _read_value(parameter: Parameter, value: Any, where: str) -> Value:
    """Return a value of a request as the search knows it."""
    place = f"{where}.parameters: {parameter.name}"
    if parameter.kind == "unordered":
        require(value in parameter.choices, f"{place} never is {value!r}")
        return str(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    require(is_number and math.isfinite(value), f"{place}: {value!r} is not a number")
    if parameter.kind == "ordered":
        for choice in parameter.choices:
            if abs(float(choice) - value) <= ALMOST:
                return choice
        raise ApiError("INVALID_ARGUMENT", f"{place} never is {value:g}")
    fits = parameter.low <= value <= parameter.high
    require(fits, f"{place}: {value:g} is outside {parameter.low:g} to {parameter.high:g}")
    if parameter.kind == "whole":
        require(value == int(value), f"{place}: {value:g} is not a whole number")
        return int(value)
    return float(value)
