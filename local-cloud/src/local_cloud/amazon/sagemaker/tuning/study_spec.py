"""What a tuning job looks for: its request as a StudySpec, checked.

Sources: HyperParameterTuningJobConfig in the API reference; "Define hyperparameter ranges" and
"Hyperparameter tuning strategies" in the developer guide (read 2026).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.engine.studies.early_stopping import Rule
from local_cloud.engine.studies.search import Parameter, Value
from local_cloud.engine.studies.spec import StudySpec
from local_cloud.json_types import Json

SCALES = {"Logarithmic": "log", "ReverseLogarithmic": "reverse log"}
MOST_PARAMETERS = 30  # "Automatic Model Tuning resource limits" in the developer guide
MOST_RESOURCE = 20_000  # HyperbandStrategyConfig in the API reference
WIDE = 100  # Auto: a range whose ends are so many times apart is searched by its logarithm
SILENT = 5  # so many training jobs without the metric end a tuning job that has none yet
# Hyperband says when trials are stopped; what they try is chosen at random.
STRATEGIES = {"Bayesian": "bayesian", "Random": "random", "Grid": "grid", "Hyperband": "random"}
# HyperbandStrategyConfig in the API reference: where MaxResource is looked for if it is not given.
EPOCHS = ("epochs", "numepochs", "n-epochs", "n_epochs", "num_epochs")


def of(name: str, config: Json, static: Mapping[str, str]) -> StudySpec:
    """Return what a tuning job of this name looks for; config: HyperParameterTuningJobConfig."""
    if config.get("TuningJobCompletionCriteria"):
        raise not_implemented("HyperParameterTuningJobConfig.TuningJobCompletionCriteria")
    if (config.get("ParameterRanges") or {}).get("AutoParameters"):
        raise not_implemented("ParameterRanges.AutoParameters; give each hyperparameter its range")
    parameters = _parameters(config.get("ParameterRanges") or {})
    grid = config["Strategy"] == "Grid"
    most = _most(config, parameters if grid else ())
    if config["Strategy"] == "Bayesian":
        _check_combinations(parameters, most)
    seed = config.get("RandomSeed")
    return StudySpec(
        parameters,
        config["HyperParameterTuningJobObjective"]["Type"] == "Maximize",
        most,
        config["ResourceLimits"]["MaxParallelTrainingJobs"],
        STRATEGIES[config["Strategy"]],
        max_failed_trials=most,
        max_without_metric=SILENT,
        # Without one, a job of the same name tries the same again.
        seed=zlib.crc32(name.encode()) if seed is None else seed,
        seconds=config["ResourceLimits"].get("MaxRuntimeInSeconds"),
        early_stopping=_rule(config, static),
    )


def text(value: Value) -> str:
    """Return a value as a hyperparameter.

    That is what float() reads back unchanged; a whole number has digits only.
    """
    return str(value)


def read(parameter: Parameter, said: str) -> Value | None:
    """Return a hyperparameter's text as a value of this one; None where it has no such value."""
    if parameter.kind == "unordered":
        return said if said in parameter.choices else None
    try:
        value = float(said) if parameter.kind == "real" else int(said)
    except ValueError:
        return None
    return value if parameter.low <= value <= parameter.high else None


def _rule(config: Json, static: Mapping[str, str]) -> Rule | None:
    """Return when training jobs are stopped early."""
    auto = config.get("TrainingJobEarlyStoppingType") == "Auto"
    given = config.get("StrategyConfig")
    if config["Strategy"] != "Hyperband":
        if given:
            raise invalid("StrategyConfig is for the strategy Hyperband: leave it out")
        return Rule("median", latest=True) if auto else None
    if auto:
        raise invalid("TrainingJobEarlyStoppingType must be Off: Hyperband stops early by itself")
    resource = (given or {}).get("HyperbandStrategyConfig") or {}
    least, most = resource.get("MinResource") or 1, resource.get("MaxResource")
    said = next((static[name] for name in EPOCHS if name in static), "").strip('"')
    if most is None and said.isdecimal():
        most = int(said)
    if not most or most <= least:
        raise invalid(
            f"Hyperband needs a MaxResource above MinResource ({least}): the epochs of a whole"
            f" training, else one of the static hyperparameters {', '.join(EPOCHS)}"
        )
    if most > MOST_RESOURCE:
        raise invalid(f"Hyperband's MaxResource is {most}: it can be {MOST_RESOURCE}")
    return Rule("halving", least=least, most=most)


def _most(config: Json, categories: tuple[Parameter, ...]) -> int:
    """Return how many training jobs there are at most; categories: what a grid consists of."""
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


def _check_combinations(parameters: tuple[Parameter, ...], most: int) -> None:
    """Refuse more training jobs than there are combinations of values.

    Observed of a tuning job without continuous ranges: aws/amazon-sagemaker-operator-for-k8s#123
    (2020); whether the strategies Random and Hyperband are refused as well is not known.
    """
    if any(one.kind == "real" for one in parameters):
        return
    points = math.prod(
        len(one.choices) if one.kind == "unordered" else int(one.high - one.low) + 1
        for one in parameters
    )
    if points < most:
        raise invalid(
            "You don't have enough combinations of hyperparameter ranges. The total number of"
            f" hyperparameter combinations for the provided ranges [{float(points)}] must be equal"
            f" or greater than the value of MaxNumberOfJobs, [{most}]. Provide additional ranges."
        )


def _parameters(ranges: Json) -> tuple[Parameter, ...]:
    parameters = [
        *(_numbers(one, "real") for one in ranges.get("ContinuousParameterRanges") or []),
        *(_numbers(one, "whole") for one in ranges.get("IntegerParameterRanges") or []),
        *(_category(one) for one in ranges.get("CategoricalParameterRanges") or []),
    ]
    if not parameters:
        raise invalid("ParameterRanges is required: there is no hyperparameter to tune")
    if len(parameters) > MOST_PARAMETERS:
        raise invalid(
            f"ParameterRanges: {len(parameters)} hyperparameters; a tuning job searches"
            f" {MOST_PARAMETERS} at most"
        )
    names = [parameter.name for parameter in parameters]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise invalid(f"ParameterRanges: {', '.join(twice)} has two ranges; each has one")
    return tuple(parameters)


def _numbers(given: Json, kind: str) -> Parameter:
    """Return a range of numbers, which come as text."""
    name, read = given["Name"], float if kind == "real" else int
    try:
        low, high = read(given["MinValue"]), read(given["MaxValue"])
    except ValueError:
        numbers = "numbers" if kind == "real" else "whole numbers"
        raise invalid(
            f"The range of {name} needs {numbers}, not {given['MinValue']!r} and"
            f" {given['MaxValue']!r}"
        ) from None
    if math.isfinite(low) and math.isfinite(high) and not math.isfinite(high - low):
        raise invalid(f"The range of {name}, from {low} to {high}, is too wide for a number")
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise invalid(f"The range of {name} goes from {low} to {high}: its minimum is first")
    scale = _scale(given, kind, low=low, high=high)
    about = 1.0 if scale == "reverse log" else None
    return Parameter(name, kind, low, high, scale=scale, about=about)


def _scale(given: Json, kind: str, *, low: float, high: float) -> str:
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
