"""What a study tries next, chosen by Optuna.

Optuna is asked afresh for every trial: all that a choice depends on are the trials so far, which a
cloud has on record, and a seed. So a study survives the end of the server that runs it, and the
same trials, with the same results, are followed by the same one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import optuna

Value = float | int | str


@dataclass(frozen=True)
class Parameter:
    """Something that is tuned.

    kind is one of: real, whole (numbers from low to high), ordered (one of some numbers, in rising
    order), unordered (one of some texts). scale: linear; log, where small values are tried as
    finely as their own size; reverse log, where those near `high` are.
    """

    name: str
    kind: str
    low: float = 0.0
    high: float = 0.0
    choices: tuple[Value, ...] = ()
    scale: str = "linear"
    parent: str = ""  # a parameter before this one; this one is there only
    when: tuple[Value, ...] = ()  # where that one has one of these values
    about: float | None = None  # reverse log: what values come near to; None: all but low + high
    default: Value | None = None  # what the first trial of a study may begin with

    def inside(self, value: Value) -> Value:
        """Return the value as Optuna knows it.

        A reversed scale begins at its other end, and numbers have places.
        """
        if self.kind == "ordered":
            return self.choices.index(value)
        return self._mirror(value, *self.bounds) if self.scale == "reverse log" else value

    def outside(self, known: Value) -> Value:
        """Return the value, from what Optuna knows it as."""
        if self.kind == "ordered":
            return self.choices[int(known)]
        if self.scale == "reverse log":
            return self._mirror(known, self.low, self.high)
        return known

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the lowest and the highest number that Optuna knows of it."""
        if self.scale != "reverse log" or self.about is None:
            return self.low, self.high
        return self.about - self.high, self.about - self.low

    def _mirror(self, value: Value, low: float, high: float) -> Value:
        assert not isinstance(value, str)
        about = self.low + self.high if self.about is None else self.about
        mirrored = min(max(about - value, low), high)
        return int(mirrored) if self.kind == "whole" else mirrored


@dataclass(frozen=True)
class Trial:
    """What has been tried: the values, and what came of them."""

    values: Mapping[str, Value]
    result: float | None = None  # None: it still runs, or
    failed: bool = False  # it ended without a result
    others: tuple[float, ...] = ()  # the results of the study's other metrics, if it has several


def next_values(
    parameters: Sequence[Parameter],
    trials: Sequence[Trial],
    *,
    algorithm: str,
    maximize: bool,
    seed: int,
    earlier: Sequence[Trial] = (),
    alike: bool = True,
    others: Sequence[bool] = (),
    fixed: Mapping[str, Value] | None = None,
) -> dict[str, Value] | None:
    """Return the values of the next trial; None: there is nothing else to try.

    algorithm: bayesian (a tree-structured Parzen estimator, after ten random trials), random, or
    grid (all combinations, in order; nothing may be real). A trial that still runs is taken for
    one that came to nothing, so that trials side by side are not alike.

    earlier: trials of other studies, all with a result; unless `alike`, theirs count by their order
    alone, for another set of data makes other numbers.

    others: whether each other metric is maximized, if there are several. fixed: values that the
    next trial has in any case.
    """
    fixed = fixed or {}
    if algorithm == "grid":
        tried = [trial.values for trial in trials]
        left = (values for values in grid(parameters, fixed) if values not in tried)
        return next((values for values in left if fixed.items() <= values.items()), None)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)  # not a line for every trial
    mixed = int(np.random.SeedSequence([seed, len(trials)]).generate_state(1)[0])
    random, bayesian = optuna.samplers.RandomSampler, optuna.samplers.TPESampler
    # Ten trials by chance come first, unless earlier ones show where to begin.
    begin = min(10, len(earlier)) or 10
    study = optuna.create_study(
        sampler=random(mixed)
        if algorithm == "random"
        else bayesian(n_startup_trials=begin, seed=mixed),
        directions=["maximize" if up else "minimize" for up in (maximize, *others)],
    )
    known = [*earlier, *trials] if alike else [*_by_order(earlier), *_by_order(trials)]
    study.add_trials([to_optuna(parameters, trial) for trial in known])
    requested, values = study.ask(), dict[str, Value]()
    for parameter in parameters:
        if not exists(parameter, values):
            continue
        if parameter.name in fixed:
            values[parameter.name] = fixed[parameter.name]
        else:
            values[parameter.name] = parameter.outside(_ask(requested, parameter))
    return values


def _by_order(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials with the share of results below each in place of its result."""
    results = sorted(trial.result for trial in trials if trial.result is not None)
    return [
        trial
        if trial.result is None
        else replace(trial, result=(bisect_left(results, trial.result) + 0.5) / len(results))
        for trial in trials
    ]


def exists(parameter: Parameter, values: Mapping[str, Value]) -> bool:
    """Return whether a trial with these values has this parameter."""
    return not parameter.parent or values.get(parameter.parent) in parameter.when


def grid(
    parameters: Sequence[Parameter], fixed: Mapping[str, Value] | None = None
) -> Iterator[dict[str, Value]]:
    """Yield all combinations, in order: those of the last parameter's values follow one another.

    fixed: the values that some parameters have, if they are there: no others are gone through.
    """
    if not parameters:
        yield {}
        return
    *earlier, last = parameters
    for values in grid(earlier, fixed):
        if not exists(last, values):
            yield values
            continue
        whole = range(int(last.low), int(last.high) + 1)
        choices: Sequence[Value] = whole if last.kind == "whole" else last.choices
        if fixed and last.name in fixed:
            choices = [fixed[last.name]] if fixed[last.name] in choices else []
        for value in choices:
            yield values | {last.name: value}


def _distribution(parameter: Parameter) -> optuna.distributions.BaseDistribution:
    """Return what _ask() asks for, as Optuna's distribution."""
    from optuna import distributions

    log = parameter.scale != "linear"
    if parameter.kind == "real":
        return distributions.FloatDistribution(*parameter.bounds, log=log)
    if parameter.kind == "whole":
        return distributions.IntDistribution(int(parameter.low), int(parameter.high), log=log)
    if parameter.kind == "ordered":
        return distributions.IntDistribution(0, len(parameter.choices) - 1)
    return distributions.CategoricalDistribution(parameter.choices)


def _ask(trial: optuna.Trial, parameter: Parameter) -> Value:
    """Optuna's choice, as it knows the parameter."""
    log = parameter.scale != "linear"
    if parameter.kind == "real":
        return trial.suggest_float(parameter.name, *parameter.bounds, log=log)
    if parameter.kind == "whole":
        low, high = int(parameter.low), int(parameter.high)
        return trial.suggest_int(parameter.name, low, high, log=log)
    if parameter.kind == "ordered":
        return trial.suggest_int(parameter.name, 0, len(parameter.choices) - 1)
    chosen = trial.suggest_categorical(parameter.name, parameter.choices)
    assert chosen is not None
    return chosen


def to_optuna(parameters: Sequence[Parameter], trial: Trial) -> optuna.trial.FrozenTrial:
    """Return a trial as Optuna keeps it."""
    from optuna.trial import TrialState, create_trial

    there = [parameter for parameter in parameters if parameter.name in trial.values]
    state = TrialState.FAIL if trial.failed else TrialState.RUNNING
    return create_trial(
        state=state if trial.result is None else TrialState.COMPLETE,
        params={one.name: one.inside(trial.values[one.name]) for one in there},
        distributions={one.name: _distribution(one) for one in there},
        values=None if trial.result is None else [trial.result, *trial.others],
    )
