"""What a tuning job looks for: its request as the aim of a study, checked.

Sources: HyperParameterTuningJobConfig in the API reference; "Define hyperparameter ranges" and
"Hyperparameter tuning strategies" in the developer guide (read 2026).
"""

from __future__ import annotations

import math
import zlib
from typing import Any

from local_cloud.aws.errors import not_implemented
from local_cloud.engine.search import Parameter, Value
from local_cloud.engine.study import Aim
from local_cloud.sagemaker.request import invalid

Json = dict[str, Any]

SCALES = {"Logarithmic": "log", "ReverseLogarithmic": "reverse log"}
WIDE = 100  # Auto: a range whose ends are so many times apart is searched by its logarithm
SILENT = 5  # so many training jobs without the metric end a tuning job that has none yet
STRATEGIES = {"Bayesian": "bayesian", "Random": "random", "Grid": "grid"}


def aim(name: str, config: Json) -> Aim:
    """The aim of a tuning job of this name and HyperParameterTuningJobConfig."""
    _refuse(config)
    goal = config.get("HyperParameterTuningJobObjective")
    if not goal:
        raise invalid("HyperParameterTuningJobObjective is required: name the metric and the goal")
    parameters = _parameters(config.get("ParameterRanges") or {})
    grid = config["Strategy"] == "Grid"
    most = _most(config, parameters if grid else ())
    seed = config.get("RandomSeed")
    return Aim(
        parameters,
        goal["Type"] == "Maximize",
        most,
        config["ResourceLimits"]["MaxParallelTrainingJobs"],
        STRATEGIES[config["Strategy"]],
        failures=most,
        silent=SILENT,
        # Without one, a job of the same name tries the same again.
        seed=zlib.crc32(name.encode()) if seed is None else seed,
    )


def text(value: Value) -> str:
    """A value as a hyperparameter: what float() reads back unchanged; a whole number's digits."""
    return str(value)


def _refuse(config: Json) -> None:
    for field in ("TuningJobCompletionCriteria",):
        if config.get(field):
            raise not_implemented(f"HyperParameterTuningJobConfig.{field}")
    if config["Strategy"] not in STRATEGIES:
        raise not_implemented(f"HyperParameterTuningJobConfig.Strategy {config['Strategy']}")
    if config.get("TrainingJobEarlyStoppingType") == "Auto":
        raise not_implemented("HyperParameterTuningJobConfig.TrainingJobEarlyStoppingType Auto")
    if (config.get("ParameterRanges") or {}).get("AutoParameters"):
        raise not_implemented("ParameterRanges.AutoParameters; give each hyperparameter its range")


def _most(config: Json, categories: tuple[Parameter, ...]) -> int:
    """How many training jobs there are at most; categories: what a grid consists of."""
    most: int | None = config["ResourceLimits"].get("MaxNumberOfTrainingJobs")
    if not categories:
        if most is None:
            raise invalid("ResourceLimits.MaxNumberOfTrainingJobs is required")
        return most
    if numbers := [one.name for one in categories if one.kind != "unordered"]:
        raise invalid(
            f"The Grid strategy takes categorical hyperparameters only, not {', '.join(numbers)}:"
            " list their values"
        )
    points = math.prod(len(one.choices) for one in categories)
    if most not in (None, points):
        raise invalid(
            f"MaxNumberOfTrainingJobs is {most}, and the grid has {points} combinations: leave it"
            " out, or give their number"
        )
    return points


def _parameters(ranges: Json) -> tuple[Parameter, ...]:
    found = [
        *(_numbers(one, "real") for one in ranges.get("ContinuousParameterRanges") or []),
        *(_numbers(one, "whole") for one in ranges.get("IntegerParameterRanges") or []),
        *(_category(one) for one in ranges.get("CategoricalParameterRanges") or []),
    ]
    if not found:
        raise invalid("ParameterRanges is required: there is no hyperparameter to tune")
    names = [parameter.name for parameter in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise invalid(f"ParameterRanges: {', '.join(twice)} has two ranges; each has one")
    return tuple(found)


def _numbers(given: Json, kind: str) -> Parameter:
    """A range of numbers, which come as text."""
    name, read = given["Name"], float if kind == "real" else int
    try:
        low, high = read(given["MinValue"]), read(given["MaxValue"])
    except ValueError:
        numbers = "numbers" if kind == "real" else "whole numbers"
        raise invalid(
            f"The range of {name} needs {numbers}, not {given['MinValue']!r} and"
            f" {given['MaxValue']!r}"
        ) from None
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise invalid(f"The range of {name} goes from {low} to {high}: its minimum is first")
    return Parameter(name, kind, low, high, scale=_scale(given, kind, low, high))


def _scale(given: Json, kind: str, low: float, high: float) -> str:
    name, word = given["Name"], given.get("ScalingType") or "Auto"
    if word == "Auto":
        return "log" if low > 0 and high / low >= WIDE else "linear"
    if word == "Logarithmic" and low <= 0:
        raise invalid(f"The range of {name} begins at {low}: Logarithmic is for values above 0")
    if word == "ReverseLogarithmic" and (kind != "real" or low < 0 or high >= 1):
        raise invalid(
            f"The range of {name} cannot be ReverseLogarithmic, which is for continuous values"
            " from 0 to less than 1"
        )
    return SCALES.get(word, "linear")


def _category(given: Json) -> Parameter:
    if len(set(given["Values"])) < len(given["Values"]):
        raise invalid(f"The values of {given['Name']} hold one of them twice")
    return Parameter(given["Name"], "unordered", choices=tuple(given["Values"]))
