"""A budget in dollars, from LESSON_BUDGET: what would exceed it is not sent.

What is sent counts before anybody knows how long it runs: a job its first hour, an endpoint its
first day. What has run for longer counts what it has cost.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from lesson import LessonError, target
from lesson.jobs.states import ENDED
from lesson.money.costs import Estimate, PriceUnknown, dollars

if TYPE_CHECKING:
    import pandas as pd


class Leak(Protocol):
    """What local_cloud.bill() says of something that still costs money."""

    @property
    def kind(self) -> str:
        """Return the service's word for it."""

    @property
    def dollars(self) -> float:
        """Return what it has cost."""

    @property
    def dollars_per_day(self) -> float | None:
        """Return what it costs; None if no price is known."""


VARIABLE = "LESSON_BUDGET"
HOUR, DAY = 1.0, 24.0  # hours that a job, and an endpoint, count at least
NOT_COUNTED = (
    "not counted: the other cloud, deleted endpoints, storage, machines of train_on_vm(), tasks of"
    " pipelines that list_jobs() does not list, jobs older than the newest 1,000, and what others"
    " sent"
)
NOTHING: Mapping[str, float] = {}


def budget() -> float | None:
    """Return the budget in US dollars; None if none is set.

    Raises LessonError for a value that is not an amount.
    """
    value = os.environ.get(VARIABLE, "").strip()
    if not value:
        return None
    try:
        amount = float(value.removeprefix("$"))
    except ValueError:
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise LessonError(
            f"{VARIABLE} is {value!r}; set it to dollars, such as 5 or 2.50, or unset it"
        )
    return amount


def require(
    estimated: Callable[[], Estimate],
    hours: float,
    spent: Callable[[], float],
    *,
    also: Callable[[], Mapping[str, float]] = dict,
) -> None:
    """Refuse what would exceed the budget, if one is set.

    estimated: what it costs an hour; hours: that it counts. spent: asks the service, under
    LESSON_TARGET=cloud; under local the bill of the local cloud counts. also: what else it costs,
    in words, each with its US dollars. Raises LessonError, and
    PriceUnknown for what has no known price: nobody can say whether it exceeds the budget.
    """
    limit = budget()
    if limit is None:
        return
    try:
        made, more = estimated(), also()
    except PriceUnknown as unknown:
        raise PriceUnknown(f"not sent, because {VARIABLE} is set and {unknown}") from None
    so_far = local_spending() if target() == "local" else spent()
    if problem := excess(limit, so_far, made, hours=hours, also=more):
        raise LessonError(problem)


def excess(
    limit: float,
    so_far: float,
    made: Estimate,
    *,
    hours: float,
    also: Mapping[str, float] = NOTHING,
) -> str:
    """Return why something is not sent that would exceed the limit; "" if it would not.

    limit, so_far: US dollars. also: what else it costs, in words, each with its US dollars.
    """
    adds = hours * made.usd_per_hour + sum(also.values())
    if so_far + adds <= limit:
        return ""
    first = f"the {'first day' if hours == DAY else 'first hour'} of {made.what}"
    more = math.ceil((so_far + adds) * 100) / 100
    counted = "local_cloud.bill() lists it" if target() == "local" else NOT_COUNTED
    return (
        f"not sent: {VARIABLE} is {dollars(limit)}, {dollars(so_far)} is spent or committed so far"
        f" ({counted}), and {' and '.join([first, *also])} would add {dollars(adds)}; to send it,"
        f" end what still costs money, or raise {VARIABLE} to ${more:.2f}"
    )


# ---- what is spent ------------------------------------------------------------------------------
def local_spending() -> float:
    """Return the dollars of the local cloud's bill, and those that its running jobs commit."""
    import local_cloud

    bill = local_cloud.bill()
    return bill.dollars + estimate_commitments([*bill.leaks, *bill.queued])


def estimate_commitments(leaks: Iterable[Leak]) -> float:
    """Return what is missing to the first hour of each job that runs or waits, in US dollars.

    Of an endpoint it is the first day; what has no known price counts nothing.
    """
    missing = 0.0
    for leak in leaks:
        if leak.kind not in ("bucket", "notebook instance"):
            share = 1.0 if leak.kind == "endpoint" else HOUR / DAY
            missing += max(0.0, share * (leak.dollars_per_day or 0.0) - leak.dollars)
    return missing


def of_endpoint(created: datetime, estimated: Callable[[float], Estimate]) -> float:
    """Return the dollars of an endpoint's machines since it was created, a day at least.

    `estimated` is what they cost for so many hours. Without a known price they count nothing.
    """
    hours = (datetime.now(UTC) - created).total_seconds() / 3600
    try:
        return estimated(max(DAY, hours)).usd
    except PriceUnknown:
        return 0.0


def of_jobs(jobs: pd.DataFrame, estimate_cost: Callable[..., Estimate]) -> float:
    """Return the dollars of the jobs of a list_jobs(), with an hour of each that has not ended.

    A job without a known price counts nothing.
    """
    from lesson.money.costs import bill

    unended = ~jobs["state"].isin(ENDED)
    seconds = jobs["seconds"].mask(unended & (jobs["seconds"] < HOUR * 3600), HOUR * 3600)
    return float(bill(jobs.assign(seconds=seconds), estimate_cost)["dollars"].sum())
