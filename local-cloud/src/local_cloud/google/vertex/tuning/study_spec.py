"""What a study looks for: the StudySpec of a request, checked. A tuning job's is the engine's.

Sources: types/study.py of the client library; Vertex AI's page "Create a hyperparameter tuning job"
(read 2026).
"""

from __future__ import annotations

import itertools
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from local_cloud.engine.studies.early_stopping import Rule
from local_cloud.engine.studies.search import Parameter, Value
from local_cloud.engine.studies.spec import StudySpec
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources.schema import require
from local_cloud.json_types import Json

ALGORITHMS = {"GRID_SEARCH": "grid", "RANDOM_SEARCH": "random"}  # without one: bayesian
SCALES = {"UNIT_LOG_SCALE": "log", "UNIT_REVERSE_LOG_SCALE": "reverse log"}
MISSING = {  # fields that change what happens, and are not there yet: of a StudySpec, of a metric
    "studySpec": ("convexAutomatedStoppingSpec",),
    "studySpec.metrics[]": ("safetyConfig",),
}
NOT_OF_JOBS = "not supported by HyperparameterTuningJob, only by studies of Vertex AI Vizier"
STOPPING = {"decayCurveStoppingSpec": "decay curve", "medianAutomatedStoppingSpec": "median"}
PARENTS = {  # what says when a parameter is there, by the kind of the one it depends on
    "whole": "parentIntValues",
    "ordered": "parentDiscreteValues",
    "unordered": "parentCategoricalValues",
}
MOST_VALUES, LEAST_DISTANCE = 1000, 1e-10  # of a discrete parameter's values
MOST_PARAMETERS = 1000  # of a study, those too that depend on others


def of(job: Json) -> StudySpec:
    """Return what the study of this tuning job looks for, checked."""
    spec = job.get("studySpec", {})
    if "studyStoppingConfig" in spec:
        raise _not_implemented("studySpec.studyStoppingConfig")
    require("observationNoise" not in spec, f"studySpec.observationNoise: {NOT_OF_JOBS}")
    goals = read_goals(spec)
    if len(goals) > 1:
        raise _not_implemented("studySpec.metrics with several metrics")
    parameters = read_parameters(spec)
    for parameter in parameters:
        where = f"studySpec.parameters: {parameter.name}'s defaultValue"
        require(parameter.default is None, f"{where} is {NOT_OF_JOBS}")
    algorithm = read_algorithm(spec, parameters)
    most, parallel = (int(job.get(name, 0)) for name in ("maxTrialCount", "parallelTrialCount"))
    require(most >= 1, f"maxTrialCount: {most}; at least one trial is needed")
    require(parallel >= 1, f"parallelTrialCount: {parallel}; at least one trial has to run")
    # 0 leaves it to the service, which does not say how many: here, all of them.
    failures = int(job.get("maxFailedTrialCount", 0)) or most
    (maximize,) = goals.values()
    return StudySpec(
        parameters, maximize, most, parallel, algorithm, failures,
        seed=seed(job["displayName"]), early_stopping=read_stopping_rule(spec),
    )  # fmt: skip


def seed(display_name: str) -> int:
    """Return the seed of a search: the service has none, and here a name tries the same again."""
    return zlib.crc32(display_name.encode())


def read_goals(spec: Json) -> dict[str, bool]:
    """Return whether each metric of a study is maximized, by its id, checked."""
    metrics = spec.get("metrics", [])
    require(metrics, "studySpec.metrics: a metric is needed")
    goals: dict[str, bool] = {}
    for place, metric in enumerate(metrics):
        where, name = f"studySpec.metrics[{place}]", metric.get("metricId", "")
        for field in MISSING["studySpec.metrics[]"]:
            if field in metric:
                raise _not_implemented(f"{where}.{field}")
        require(name, f"{where}.metricId: required")
        require(not re.search(r"\s", name), f"{where}.metricId: {name!r} contains whitespace")
        require(name not in goals, f"{where}.metricId: {name!r} twice")
        goal = metric.get("goal", "GOAL_TYPE_UNSPECIFIED")
        require(goal in ("MAXIMIZE", "MINIMIZE"), f"{where}.goal: MAXIMIZE or MINIMIZE")
        goals[name] = goal == "MAXIMIZE"
    return goals


def read_parameters(spec: Json) -> tuple[Parameter, ...]:
    """Return the parameters of a study, parents before what depends on them, checked."""
    require(spec.get("parameters"), "studySpec.parameters: a parameter is needed")
    parameters: list[Parameter] = []
    for place, parameter in enumerate(spec["parameters"]):
        _add(parameters, f"studySpec.parameters[{place}]", parameter)
    return tuple(parameters)


def read_algorithm(spec: Json, parameters: Sequence[Parameter]) -> str:
    """Return how a study searches, in the engine's words."""
    algorithm = ALGORITHMS.get(spec.get("algorithm", ""), "bayesian")
    real = [parameter.name for parameter in parameters if parameter.kind == "real"]
    require(
        algorithm != "grid" or not real, f"GRID_SEARCH: {real} have no grid; use discrete values"
    )
    return algorithm


def read_stopping_rule(spec: Json) -> Rule | None:
    """Return when a trial of a study is stopped early; None: none is."""
    for field in MISSING["studySpec"]:
        if field in spec:
            raise _not_implemented(f"studySpec.{field}")
    given = [kind for field, kind in STOPPING.items() if field in spec]
    require(len(given) <= 1, f"studySpec: one of {', '.join(STOPPING)}, not both")
    return Rule(given[0]) if given else None


def _not_implemented(what: str) -> ApiError:
    return ApiError("UNIMPLEMENTED", f"not implemented in the local cloud: {what}")


def _add(parameters: list[Parameter], where: str, spec: Json, **condition: Any) -> None:
    """Add a parameter and those that are there only with some of its values, checked."""
    most = f"studySpec.parameters: more than {MOST_PARAMETERS}, the most that a study here has"
    require(len(parameters) < MOST_PARAMETERS, most)
    name = spec.get("parameterId", "")
    require(name, f"{where}.parameterId: required")
    require(not re.search(r"\s", name), f"{where}.parameterId: {name!r} contains whitespace")
    require(name not in [one.name for one in parameters], f"{where}.parameterId: {name!r} twice")
    kinds = [kind for kind in spec if kind.endswith("ValueSpec")]
    require(
        len(kinds) == 1, f"{where}: give {name} a kind: double, integer, discrete or categorical"
    )
    values, scale = spec[kinds[0]], SCALES.get(spec.get("scaleType", ""), "linear")
    if kinds[0] in ("doubleValueSpec", "integerValueSpec"):
        kind = {"d": "real", "i": "whole"}[kinds[0][0]]
        low, high = (float(values.get(end, 0)) for end in ("minValue", "maxValue"))
        require(low <= high, f"{where}: {name}'s minValue {low:g} is above its maxValue {high:g}")
        require(
            math.isfinite(high - low),
            f"{where}: {name} has no finite range from {low:g} to {high:g}",
        )
        require(
            scale == "linear" or low > 0, f"{where}: {name} is scaled by its logarithm: from > 0"
        )
        made = Parameter(name, kind, low, high, scale=scale, **condition)
    else:
        choices = _read_choices(where, name, values.get("values", []), kind=kinds[0])
        kind = "ordered" if kinds[0] == "discreteValueSpec" else "unordered"
        made = Parameter(name, kind, choices=choices, **condition)
    parameters.append(_with_default(made, where, values))
    for place, child in enumerate(spec.get("conditionalParameterSpecs", [])):
        below = f"{where}.conditionalParameterSpecs[{place}]"
        fitting = PARENTS.get(made.kind, "")
        require(fitting, f"{below}: {name} is a double, and those have no conditional parameters")
        when = tuple(child.get(fitting, {}).get("values", []))
        require(when, f"{below}.{fitting}: say with which values of {name} it is there")
        when = tuple(map(int, when)) if made.kind == "whole" else when
        never = [value for value in when if not _takes(made, value)]
        require(not never, f"{below}.{fitting}: {name} never has {', '.join(map(str, never))}")
        _add(parameters, below, child.get("parameterSpec", {}), parent=name, when=when)


def _read_choices(where: str, name: str, choices: list[Value], *, kind: str) -> tuple[Value, ...]:
    """Return the values of a discrete or categorical parameter, checked."""
    require(choices, f"{where}: {name} has no values")
    require(len(set(choices)) == len(choices), f"{where}: {name} has a value twice")
    if kind == "discreteValueSpec":
        most, numbers = MOST_VALUES, [float(choice) for choice in choices]
        require(
            len(numbers) <= most, f"{where}: {name} has {len(numbers)} values, more than {most}"
        )
        require(numbers == sorted(numbers), f"{where}: {name}'s values must rise")
        distance = min((b - a for a, b in itertools.pairwise(numbers)), default=LEAST_DISTANCE)
        require(distance >= LEAST_DISTANCE, f"{where}: {name}'s values are less than 1e-10 apart")
    return tuple(choices)


def _with_default(parameter: Parameter, where: str, values: Json) -> Parameter:
    """Return the parameter with the value that its first trial has, if the request names one."""
    if "defaultValue" not in values:
        return parameter
    default = values["defaultValue"]
    if parameter.kind == "whole":
        default = int(default)
    if parameter.kind == "ordered":  # "rounds to the nearest feasible discrete point"
        default = min(parameter.choices, key=lambda choice: abs(float(choice) - default))
    require(_takes(parameter, default), f"{where}: {parameter.name} never has {default}")
    return replace(parameter, default=default)


def _takes(parameter: Parameter, value: Value) -> bool:
    """Return whether a parameter can have this value."""
    if parameter.kind in ("real", "whole"):
        return parameter.low <= float(value) <= parameter.high
    return value in parameter.choices
