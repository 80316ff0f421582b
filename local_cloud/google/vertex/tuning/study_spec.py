"""What a tuning job looks for: its request as a StudySpec, checked.

Sources: types/study.py of the client library; Vertex AI's page "Create a hyperparameter tuning job"
(read 2026).
"""

from __future__ import annotations

import math
import re
import zlib
from typing import Any

from local_cloud.engine.studies.early_stopping import Rule
from local_cloud.engine.studies.search import Parameter, Value
from local_cloud.engine.studies.spec import StudySpec
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources.schema import Json, require

ALGORITHMS = {"GRID_SEARCH": "grid", "RANDOM_SEARCH": "random"}  # without one: bayesian
SCALES = {"UNIT_LOG_SCALE": "log", "UNIT_REVERSE_LOG_SCALE": "reverse log"}
MISSING = (  # fields of a StudySpec that change what happens, and are not there yet
    "convexAutomatedStoppingSpec",
    "studyStoppingConfig",
)
STOPPING = {"decayCurveStoppingSpec": "decay curve", "medianAutomatedStoppingSpec": "median"}
PARENTS = {  # what says when a parameter is there, by the kind of the one it depends on
    "whole": "parentIntValues",
    "ordered": "parentDiscreteValues",
    "unordered": "parentCategoricalValues",
}


def of(job: Json) -> StudySpec:
    """Return what the study of this tuning job looks for, checked."""
    spec = job.get("studySpec", {})
    for field in MISSING:
        if field in spec:
            raise ApiError(
                "UNIMPLEMENTED", f"not implemented in the local cloud: studySpec.{field}"
            )
    metrics = spec.get("metrics", [])
    require(metrics, "studySpec.metrics: a metric is needed")
    if len(metrics) > 1:
        raise ApiError(
            "UNIMPLEMENTED",
            "not implemented in the local cloud: studySpec.metrics with several metrics",
        )
    goal = metrics[0].get("goal", "GOAL_TYPE_UNSPECIFIED")
    require(metrics[0].get("metricId"), "studySpec.metrics[0].metricId: required")
    require(goal in ("MAXIMIZE", "MINIMIZE"), "studySpec.metrics[0].goal: MAXIMIZE or MINIMIZE")
    require(spec.get("parameters"), "studySpec.parameters: a parameter is needed")
    parameters: list[Parameter] = []
    for place, parameter in enumerate(spec["parameters"]):
        _add(parameters, f"studySpec.parameters[{place}]", parameter)
    algorithm = ALGORITHMS.get(spec.get("algorithm", ""), "bayesian")
    real = [parameter.name for parameter in parameters if parameter.kind == "real"]
    require(
        algorithm != "grid" or not real, f"GRID_SEARCH: {real} have no grid; use discrete values"
    )
    most, parallel = (int(job.get(name, 0)) for name in ("maxTrialCount", "parallelTrialCount"))
    require(most >= 1, f"maxTrialCount: {most}; at least one trial is needed")
    require(parallel >= 1, f"parallelTrialCount: {parallel}; at least one trial has to run")
    # 0 leaves it to the service, which does not say how many: here, all of them.
    failures = int(job.get("maxFailedTrialCount", 0)) or most
    # The service has no seed: here a job of the same name tries the same again.
    seed = zlib.crc32(job["displayName"].encode())
    maximize = goal == "MAXIMIZE"
    given = [kind for field, kind in STOPPING.items() if field in spec]
    require(len(given) <= 1, f"studySpec: one of {', '.join(STOPPING)}, not both")
    return StudySpec(
        tuple(parameters), maximize, most, parallel, algorithm, failures, seed=seed,
        early_stopping=Rule(given[0]) if given else None,
    )  # fmt: skip


def _add(parameters: list[Parameter], where: str, spec: Json, **condition: Any) -> None:
    """Add a parameter and those that are there only with some of its values, checked."""
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
        ordered = kinds[0] == "discreteValueSpec"
        choices = values.get("values", [])
        require(choices, f"{where}: {name} has no values")
        require(len(set(choices)) == len(choices), f"{where}: {name} has a value twice")
        require(not ordered or choices == sorted(choices), f"{where}: {name}'s values must rise")
        kind = "ordered" if ordered else "unordered"
        made = Parameter(name, kind, choices=tuple(choices), **condition)
    parameters.append(made)
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


def _takes(parameter: Parameter, value: Value) -> bool:
    """Return whether a parameter that is not real can have this value."""
    if parameter.kind == "whole":
        return parameter.low <= float(value) <= parameter.high
    return value in parameter.choices
