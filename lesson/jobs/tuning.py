"""What tuning is on any cloud: what may be asked, what it may cost, how a study is watched."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lesson import LessonError
from lesson.jobs import watching
from lesson.jobs.runs import is_better_small
from lesson.jobs.states import CANCELLED, ENDED
from lesson.jobs.studies import Between, NoResult, OneOf, Space, Study, Trial
from lesson.money import budget, costs
from lesson.money.costs import Estimate, PriceUnknown, dollars
from lesson.show.progress import Display

LIMIT = 24  # hours after which a trial is stopped


# ---- before it is sent --------------------------------------------------------------------------
def check(space: Space, args: Mapping[str, Any], **counts: int) -> None:
    """Refuse a space that cannot be searched, and counts of less than one."""
    if not space:
        raise LessonError("space is empty: name a flag, such as learning_rate, and what to try")
    for name, what in space.items():
        if not isinstance(what, Between | OneOf):
            raise LessonError(f"space has {name}={what!r}; use between(...) or one_of(...)")
        if name in args:
            raise LessonError(f"{name} is in args and in space; leave it out of one of them")
    for name, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise LessonError(f"{name}={count!r}; name a whole number of at least one")


def check_algorithm(algorithm: str, known: Sequence[str], space: Space, *, service: str) -> None:
    """Refuse an algorithm that the service does not have, or that cannot search the space."""
    if algorithm not in known:
        raise LessonError(f"algorithm={algorithm!r}; {service} has {', '.join(known)}")
    real = [name for name, one in space.items() if isinstance(one, Between) and not one.whole]
    if algorithm == "grid" and real:
        raise LessonError(
            f"{', '.join(real)}: a grid has no place for all numbers; use one_of(...)"
        )


def goal_of(metric: str, goal: str | None) -> str:
    """Return the goal, unless it is given: minimize a loss or an error, maximize anything else.

    >>> goal_of("validation_loss", None), goal_of("validation_accuracy", None)
    ('minimize', 'maximize')
    """
    if goal not in (None, "minimize", "maximize"):
        raise LessonError(f"goal={goal!r}; name minimize or maximize, or leave it out")
    return goal or ("minimize" if is_better_small(metric) else "maximize")


def state_cost(
    service: str, one: Callable[[], Estimate], trials: int, *, parallel: int, spot: bool
) -> None:
    """Say before a study is sent what it costs; `one` estimates an hour of one trial's machines.

    How long a trial takes is not known: so an hour's price, what each minute of a trial adds to
    the whole, and what it is at most.
    """
    at_once = min(trials, parallel)
    costs.state(service, lambda: times(one(), at_once), spot)
    try:
        hour = one().usd_per_hour
    except PriceUnknown:  # has been said
        return
    less = "less than " if spot else ""
    count = f"{trials} trials" if trials > 1 else "1 trial"
    print(
        f"{count}, {at_once} at a time: for each minute that a trial takes, {less}"
        f"{dollars(trials * hour / 60)} in all; at most {dollars(trials * hour * LIMIT)}, if each "
        f"ran into its limit of {LIMIT} hours"
    )


def require_budget(
    one: Callable[[], Estimate], trials: int, parallel: int, *, spent: Callable[[], float]
) -> None:
    """Refuse a study that would exceed the budget; `one` estimates an hour of one trial."""
    budget.require(lambda: times(one(), min(trials, parallel)), budget.HOUR, spent)


def times(estimate: Estimate, count: int) -> Estimate:
    """Return what so many of the same cost together."""
    lines = tuple(replace(line, count=count * line.count) for line in estimate.lines)
    return replace(estimate, lines=lines, what=f"{count} trials at a time, each {estimate.what}")


# ---- while it runs, and after -------------------------------------------------------------------
def watch(look: Callable[[], Study], pause: float, display: Display) -> Study:
    """Show the study as it stands, again and again, until it ends."""
    while True:
        study = look()
        display.show(study)
        if study.state in ENDED:
            return study
        time.sleep(pause)


def follow(
    look: Callable[[], Study], pause: float, explain: Callable[[Trial], str], *, name: str
) -> Study:
    """Show the trials until a study ends; NoResult, if it came to nothing.

    `explain` says why a trial has no result. An interrupt ends the watching, not the study.
    """
    with watching.in_place(name) as display:
        study = watch(look, pause, display)
    if study.trials_with_result:
        return study
    if study.state == CANCELLED:
        print(f"{name} was cancelled before a trial had succeeded")
        return study
    raise NoResult(study, explain)
