"""When a trial that runs is stopped early: judged by what it and others have reported so far.

By hand, and not by Optuna's pruners, which decide otherwise than the services' documentation:
MedianPruner compares with what others reported at the same step, the services with the running
averages of those that have ended; SuccessiveHalvingPruner keeps for a rung what it is shown when it
is asked, and here trials are looked at now and then, several steps at a time. Where both are asked
after every step they agree, which a test shows. Decay curves it does not have.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

Curve = Sequence[tuple[float, float]]  # (step or seconds, value) of each report, as they came

ENOUGH = 3  # trials have to have ended before another is compared with them
HOPELESS = 0.05  # the chance of a trial to become the best below which it is stopped
# Shares of what becomes of a trial that its reports may not tell; the likeliest one is taken.
NOISES = (0.01, 0.03, 0.1, 0.3, 0.6, 0.99)
PART = 3  # halving: one of so many trials goes on


@dataclass(frozen=True)
class Rule:
    """How it is decided.

    kind: "median": a trial stops if its best or, with `latest`, its latest value is worse than the
    median of what the trials that have ended had reported on average by then. "decay curve": if it
    is improbable that it becomes the best, judged by how those went on that stood where it stands.
    "halving": successive halving in several brackets (Hyperband), see `_is_over_by_halving`.
    """

    kind: str
    latest: bool = False
    least: float = 1  # halving: steps before the first decision
    most: float = 0.0  # at so many a trial is stopped, whatever it is worth


@dataclass(frozen=True)
class Other:
    """Another trial of the study: its place, its reports, what came of it."""

    place: int
    curve: Curve
    ended: bool = True
    result: float | None = None  # None: it did not run to its end


def is_over(
    rule: Rule, mine: Other, *, since: float, others: Iterable[Other], maximize: bool
) -> bool:
    """Return whether to stop a trial that runs; since: the step up to which this was decided."""
    if not mine.curve or mine.curve[-1][0] <= since:
        return False
    if maximize:  # from here on, less is better
        mine, others = _negative(mine), [_negative(other) for other in others]
    others = [other for other in others if other.place != mine.place]
    if rule.kind == "halving":
        return _is_over_by_halving(rule, mine, since=since, others=others)
    ended = [other for other in others if other.ended]
    if rule.kind == "median":
        return _below_median(rule, mine.curve, ended)
    return _without_a_chance(mine.curve, ended)


def _negative(trial: Other) -> Other:
    curve = [(step, -value) for step, value in trial.curve]
    result = None if trial.result is None else -trial.result
    return Other(trial.place, curve, trial.ended, result)


def _below_median(rule: Rule, mine: Curve, ended: Sequence[Other]) -> bool:
    step = mine[-1][0]
    reports = [[value for at, value in other.curve if at <= step] for other in ended]
    averages = [statistics.fmean(values) for values in reports if values]
    if len(averages) < ENOUGH:
        return False
    value = mine[-1][1] if rule.latest else min(value for _, value in mine)
    return value > statistics.median(averages)


def _without_a_chance(mine: Curve, ended: Sequence[Other]) -> bool:
    """Predict what the trial gains from here on by a Gaussian process from the others."""
    step = mine[-1][0]
    known = [
        (_features(other.curve, step), other.result - _at(other.curve, step), other.result)
        for other in ended
        if other.result is not None and other.curve and other.curve[0][0] <= step
    ]
    if len(known) < ENOUGH:
        return False
    features, gains, results = zip(*known, strict=True)
    gain, deviation = _predict(np.array(features), np.array(gains), _features(mine, step))
    distance = (min(results) - (_at(mine, step) + gain)) / (deviation or 1e-12)
    return 0.5 * math.erfc(-distance / math.sqrt(2)) < HOPELESS


def _at(curve: Curve, step: float) -> float:
    """Return the latest value at this step; the first one, before it."""
    return next((value for at, value in reversed(curve) if at <= step), curve[0][1])


def _features(curve: Curve, step: float) -> tuple[float, float]:
    """Return where a trial stood at this step, and how fast it got there."""
    now = _at(curve, step)
    return now, _at(curve, step / 2) - now


def _predict(
    features: np.ndarray, values: np.ndarray, at: tuple[float, float]
) -> tuple[float, float]:
    """Return mean and standard deviation at a place, by Gaussian process regression."""
    scale, deviation = features.std(axis=0), float(values.std())
    if deviation == 0:
        return float(values.mean()), 0.0
    scale[scale == 0] = 1
    known, new, wanted = (
        features / scale,
        np.array(at) / scale,
        (values - values.mean()) / deviation,
    )
    alike = np.exp(-((known[:, None] - known[None]) ** 2).sum(axis=2) / 2)
    like_new = np.exp(-((known - new) ** 2).sum(axis=1) / 2)
    predictions = []
    for noise in NOISES:
        covariance = (1 - noise) * alike + noise * np.eye(len(known))
        weights = np.linalg.solve(covariance, (1 - noise) * like_new)
        likelihood = (
            -wanted @ np.linalg.solve(covariance, wanted) - np.linalg.slogdet(covariance)[1]
        )
        spread = max(1 - weights @ ((1 - noise) * like_new), 0.0)
        predictions.append((likelihood, float(weights @ wanted), math.sqrt(spread)))
    _, mean, spread = max(predictions)
    return float(values.mean()) + mean * deviation, spread * deviation


def _is_over_by_halving(rule: Rule, mine: Other, *, since: float, others: Sequence[Other]) -> bool:
    """Decide by successive halving, as each trial comes by (ASHA).

    A decision falls at `least` steps and at three times, nine times as many, and so on: the third
    of the trials goes on that is best there. Every other bracket begins that much later, which
    spares trials that begin slowly. The brackets take turns.
    """
    if mine.curve[-1][0] >= rule.most:
        return True
    brackets = 1 + max(0, math.floor(math.log(rule.most / rule.least, PART) + 1e-9))
    rung = rule.least * PART ** (mine.place % brackets)
    while rung <= mine.curve[-1][0]:
        if rung > since:
            value = _at(mine.curve, rung)
            rivals = [
                _at(other.curve, rung)
                for other in others
                if other.curve
                and other.curve[-1][0] >= rung
                and other.place % brackets == mine.place % brackets
            ]
            better = sum(rival < value for rival in rivals)
            if better >= max(1, (len(rivals) + 1) // PART):
                return True
        rung *= PART
    return False
