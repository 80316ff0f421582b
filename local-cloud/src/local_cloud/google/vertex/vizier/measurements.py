"""What a study's trials have measured, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from local_cloud.engine.studies import early_stopping
from local_cloud.engine.studies.early_stopping import Curve, Other
from local_cloud.engine.studies.search import Trial
from local_cloud.google.vertex.resources.schema import require
from local_cloud.google.vertex.vizier.study_config import StudyConfig
from local_cloud.json_types import Json


def check(measurement: Json, config: StudyConfig, where: str) -> None:
    """Refuse a measurement of metrics that the study does not have, or of no finite numbers."""
    named = [metric.get("metricId", "") for metric in measurement.get("metrics", [])]
    require(named, f"{where}.metrics: a metric is needed")
    require(len(set(named)) == len(named), f"{where}.metrics: a metric is there twice")
    for name in named:
        known = ", ".join(config.goals)
        require(name in config.goals, f"{where}.metrics: {name!r} is no metric of it: {known}")
    for name, value in values(measurement).items():
        require(
            math.isfinite(value),
            f"{where}.metrics: {name} is {value}; complete a trial without a result with"
            " trialInfeasible",
        )
    require(step(measurement) >= 0, f"{where}.stepCount: {step(measurement)} is negative")


def values(measurement: Json) -> dict[str, float]:
    """Return the values of a measurement by their metrics' ids; JSON leaves a zero out."""
    metrics = measurement.get("metrics", [])
    return {metric["metricId"]: float(metric.get("value", 0.0)) for metric in metrics}


def step(measurement: Json) -> int:
    """Return after how many steps it was measured."""
    return int(measurement.get("stepCount", 0))


def seconds(measurement: Json) -> float:
    """Return after how many seconds it was measured."""
    return float(measurement.get("elapsedDuration", "0s").removesuffix("s"))


def choose(trial: Json, config: StudyConfig) -> Json | None:
    """Return the measurement that becomes the final one of a trial that gives none."""
    metric, direction = config.metric, 1 if config.maximize else -1
    given: list[Json] = trial.get("measurements", [])
    complete = [one for one in given if config.goals.keys() <= values(one).keys()]
    if not complete:
        return None
    if config.spec.get("measurementSelectionType") == "BEST_MEASUREMENT":
        return max(complete, key=lambda one: direction * values(one)[metric])
    return complete[-1]  # what an unspecified type means, too


def for_search(trial: Json, config: StudyConfig) -> Trial:
    """Return what the search needs to know of a trial."""
    tried = config.read_values(trial.get("parameters", []), "trial")
    if trial["state"] != "SUCCEEDED":
        return Trial(tried, failed=trial["state"] == "INFEASIBLE")
    final = values(trial["finalMeasurement"])
    first, *others = (final[metric] for metric in config.goals)
    return Trial(tried, first, others=tuple(others))


def optimal(trials: Sequence[Json], config: StudyConfig) -> list[Json]:
    """Return the best of the trials that succeeded; with several metrics, the Pareto-optimal ones.

    A trial is Pareto-optimal if no other is at least as good in all metrics, and better in one.
    """
    done = [trial for trial in trials if trial["state"] == "SUCCEEDED"]
    costs = [_costs(trial, config) for trial in done]
    if len(config.goals) == 1:
        return done[:0] if not done else [done[costs.index(min(costs))]]
    return [
        trial
        for trial, mine in zip(done, costs, strict=True)
        if not any(_dominates(other, mine) for other in costs)
    ]


def _costs(trial: Json, config: StudyConfig) -> tuple[float, ...]:
    """Return the final values in the order of the study's metrics; less is better."""
    final = values(trial["finalMeasurement"])
    return tuple(-final[metric] if up else final[metric] for metric, up in config.goals.items())


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def should_stop(trial: Json, trials: Sequence[Json], config: StudyConfig) -> bool:
    """Return whether the study's rule stops a trial that runs."""
    if config.early_stopping is None or trial["state"] != "ACTIVE":
        return False
    others = [_other(each, config) for each in trials]
    (mine,) = (each for each in others if each.place == int(trial["id"]))
    return early_stopping.is_over(
        config.early_stopping, mine, since=-math.inf, others=others, maximize=config.maximize
    )


def _other(trial: Json, config: StudyConfig) -> Other:
    """Return what the decision to stop one trial early needs to know of another."""
    result = None
    if trial["state"] == "SUCCEEDED":
        result = values(trial["finalMeasurement"])[config.metric]
    ended = trial["state"] in ("SUCCEEDED", "INFEASIBLE")
    return Other(int(trial["id"]), _curve(trial, config), ended, result)


def _curve(trial: Json, config: StudyConfig) -> Curve:
    rule = next(iter(config.spec[name] for name in config.spec if name.endswith("StoppingSpec")))
    at = seconds if rule.get("useElapsedDuration") else step
    return [
        (at(one), measured[config.metric])
        for one in trial.get("measurements", [])
        if config.metric in (measured := values(one))
    ]
