"""The charts of a study: the best so far after each trial, the results by each parameter."""

from __future__ import annotations

from collections.abc import Sequence

from local_cloud.console.charts import charts
from local_cloud.console.charts.scales import Scale, choices_of, of_numbers
from local_cloud.console.site import words
from local_cloud.engine.studies.importance import parameter_importance
from local_cloud.engine.studies.search import Parameter, Value, to_optuna
from local_cloud.engine.studies.spec import Study, TrialJob

BEST = "best so far"


def history(study: Study, metric: str) -> charts.Chart | None:
    """Draw the result of each trial, and the best so far; None before a trial has a result."""
    results = [(float(number), trial.result or 0.0) for number, trial in _with_result(study)]
    better = max if study.spec.maximize else min
    best: list[tuple[float, float]] = []
    for number, result in results:
        best.append((number, better([result, *(value for _, value in best[-1:])])))
    return charts.lines("History", {BEST: best, metric: results}, "trial", marks=[metric])


def slices(study: Study, metric: str) -> list[charts.Chart]:
    """Draw the results by the values of each parameter that has two of them."""
    drawn = []
    for parameter in study.spec.parameters:
        name = parameter.name
        done = [(n, trial) for n, trial in _with_result(study) if name in trial.values]
        values = [trial.values[name] for _, trial in done]
        if len(set(values)) < 2:
            continue
        points = {
            _describe(name, metric, number=n, trial=trial): _point(trial, name) for n, trial in done
        }
        best = "".join(
            _describe(name, metric, number=n, trial=trial)
            for n, trial in done
            if trial is study.best
        )
        across = _scale(parameter, values)
        drawn.append(charts.dots(f"{metric} by {name}", points, name, across=across, best=best))
    return drawn


def _with_result(study: Study) -> list[tuple[int, TrialJob]]:
    """Return the trials with a result, and their numbers."""
    return [(n, trial) for n, trial in enumerate(study.trials, 1) if trial.result is not None]


def _point(trial: TrialJob, name: str) -> tuple[Value, float]:
    return trial.values[name], trial.result or 0.0


def _describe(name: str, metric: str, *, number: int, trial: TrialJob) -> str:
    value, result = words.number(trial.values[name]), words.number(trial.result)
    return f"Trial {number}: {name} {value}, {metric} {result}"


def _scale(parameter: Parameter, values: Sequence[Value]) -> Scale:
    if choices := choices_of(parameter, values):
        return choices
    numbers = [float(value) for value in values]
    return of_numbers(numbers, log=parameter.scale == "log" and min(numbers) > 0)


def importance(study: Study) -> dict[str, float]:
    """Return the share of each parameter in how much the results differ; empty if unknown."""
    return parameter_importance(
        [to_optuna(study.spec.parameters, trial.for_search()) for _, trial in _with_result(study)]
    )
