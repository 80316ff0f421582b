"""What a job is about to cost: prices with their source and date, and the sum written out."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lesson import LessonError, target

if TYPE_CHECKING:
    import pandas as pd

    from local_cloud import prices

LEFT_OUT = (
    "An hour counts from the start of the machines to the end of the job; disks, storage and "
    "network traffic are not included."
)
# How list_jobs() writes what a job ran on: `4 trials on n1-standard-4 + 1 × NVIDIA_TESLA_T4, spot`.
ASKED = re.compile(r"(?:(\d+) trials on )?([\w.-]+)(?: \+ (\d+) × (\w+))?(?:, spot)?")
# Worker pools of different machines: `1 × n1-standard-8 and 3 × n1-standard-4`.
POOLS = re.compile(r"(?:^| and )(\d+) × (.+?)(?= and |$)")
SPOT = "Spot machines cost less, at a price that changes; it is not estimated here."


class PriceUnknown(LessonError):
    """The table holds no price of a machine or GPU."""


@dataclass(frozen=True)
class Price:
    """A list price in US dollars per hour, with where and when it was read."""

    usd: float
    source: str  # the URL of the page
    read: str  # the day it was read, YYYY-MM-DD; empty where the source has no date
    sure: str  # how sure the number is, in a few words

    def __str__(self) -> str:
        """Return the price, how sure it is and since when, and where it is from."""
        return f"${self.usd:.5g} an hour ({self.sure}, {self.read or 'undated'}: {self.source})"


@dataclass(frozen=True)
class Increment:
    """The step in which a service bills time, with where and when that was read."""

    service: str
    seconds: int
    source: str  # the URL of the page
    read: str  # as in Price
    sure: str

    def round_up(self, seconds: float) -> float:
        """Return the seconds that are billed: an increment that has begun counts in full."""
        # Rounded first, because hours that are given as a fraction are not whole seconds exactly.
        return math.ceil(round(seconds / self.seconds, 6)) * self.seconds

    def __str__(self) -> str:
        """Return the rule, how sure it is and since when, and where it is from."""
        return f"{self._rule()} ({self.sure}, {self.read or 'undated'}: {self.source})."

    def _repr_html_(self) -> str:
        rule, sure = html.escape(self._rule()), html.escape(self.sure)
        return f"{rule} ({sure}, {_link(self.source, self.read)})."

    def _rule(self) -> str:
        step = "the second" if self.seconds == 1 else f"increments of {self.seconds} s"
        return f"{self.service} bills by {step}, rounded up"


@dataclass(frozen=True)
class Line:
    """So many of one thing at one price."""

    what: str
    count: int
    price: Price

    def __str__(self) -> str:
        """Return the line as text."""
        return f"{self.count} × {self.what} at {self.price}"

    def _repr_html_(self) -> str:
        link = _link(self.price.source, self.price.read)
        what, sure = html.escape(self.what), html.escape(self.price.sure)
        cells = (self.count, what, f"{self.price.usd:.5g}", sure, link)
        return "".join(f"<td>{cell}</td>" for cell in cells)


@dataclass(frozen=True, repr=False)
class Estimate:
    """What so many hours of some machines cost at list price; prints as a sentence and its sum."""

    what: str
    hours: float
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    increment: Increment | None = None  # None: billed as long as it takes

    @property
    def billed_hours(self) -> float:
        """Return the hours in whole increments of the service."""
        if self.increment is None:
            return self.hours
        return self.increment.round_up(self.hours * 3600) / 3600

    @property
    def usd_per_hour(self) -> float:
        """Return US dollars for an hour of everything together."""
        return sum(line.count * line.price.usd for line in self.lines)

    @property
    def usd(self) -> float:
        """Return US dollars for all the hours, as the service rounds them."""
        return self.billed_hours * self.usd_per_hour

    def sentence(self) -> str:
        """Return the sum in one sentence, without its parts."""
        hours, billed = hours_in_words(self.hours), hours_in_words(self.billed_hours)
        rounded = f", billed as {billed}" if billed != hours else ""
        return (
            f"{self.what}, {hours}{rounded}: about {dollars(self.usd)} "
            f"({dollars(self.usd_per_hour)} an hour)"
        )

    def __repr__(self) -> str:
        """Return the sentence, and below it the parts and what they leave out."""
        rule = [str(self.increment)] if self.increment else []
        return "\n  ".join([self.sentence(), *map(str, self.lines), *rule, *self.notes])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{line._repr_html_()}</tr>" for line in self.lines)
        heads = "".join(
            f'<th scope="col">{head}</th>'
            for head in ("count", "what", "USD an hour, each", "how sure", "price read")
        )
        rule = [self.increment._repr_html_()] if self.increment else []
        notes = "".join(f"<li>{note}</li>" for note in [*rule, *map(html.escape, self.notes)])
        # JupyterLab takes what stands between two bare dollar signs for a formula.
        caption = html.escape(self.sentence()).replace("$", "<span>$</span>")
        return (
            f"<table><caption>{caption}</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table><ul>{notes}</ul>"
        )


def _link(source: str, read: str) -> str:
    """Return a link to the page of a price or a rule, whose text is when it was read."""
    return f'<a href="{html.escape(source)}">{read or "undated"}</a>'


def table(listed: Mapping[str, prices.ListPrice]) -> dict[str, Price]:
    """Return the prices of a dated table (local_cloud.prices)."""
    return {name: Price(*each) for name, each in listed.items()}


def increment(rounding: prices.Rounding) -> Increment:
    """Return the increment of a dated rule of rounding (local_cloud.prices)."""
    return Increment(rounding.service, rounding.step, rounding.source, rounding.read, rounding.sure)


def price(table: Mapping[str, Price], name: str, what: str, *, page: str) -> Price:
    """Return the price of a machine or GPU; raise PriceUnknown if the table has none."""
    if name not in table:
        raise PriceUnknown(
            f"no sourced price is known here for the {what} {name}, only for {', '.join(table)}; "
            f"choose one of these, or look it up at {page}"
        )
    return table[name]


def state(service: str, estimated: Callable[[], Estimate], spot: bool) -> None:
    """Say before a job is sent what it costs; one without a known price is not sent to pay."""
    try:
        made = estimated()
    except PriceUnknown as unknown:
        if target() == "cloud":
            raise
        print(f"{unknown}; under LESSON_TARGET=cloud this job would not be sent")
        return
    less = ", less on spot machines" if spot else ""
    here = "" if target() == "cloud" else "; here it costs nothing"
    print(
        f"on {service} this costs about {dollars(made.usd_per_hour)} an hour at list price"
        f"{less}{here}"
    )


def notes(region: str, priced: str, spot: bool) -> list[str]:
    """Return what an estimate leaves out; `priced` is the region of the prices."""
    left_out = [LEFT_OUT]
    if region != priced:
        left_out.append(f"Priced as in {priced}; {region} may cost more.")
    if spot:
        left_out.append(SPOT)
    return left_out


def estimate(
    machine: tuple[str, Price],
    *,
    gpu: tuple[str, Price] | None = None,
    gpu_count: int = 1,
    replicas: int = 1,
    hours: float = 1.0,
    notes: Sequence[str] = (),
    increment: Increment | None = None,
) -> Estimate:
    """Add up replicas × (machine + gpu_count × gpu) × hours, rounded up to whole increments.

    `machine` and `gpu` are names with their prices, `gpu_count` is per replica. Raises LessonError
    for fewer than one replica or GPU, and for hours that are negative or not finite.
    """
    for count, what in ((replicas, "replicas"), (gpu_count, "GPUs to each replica")):
        if count < 1:
            raise LessonError(f"{count} {what}: name at least one")
    if not 0 <= hours < math.inf:
        raise LessonError(f"hours={hours}: name a number of hours that is zero or more")
    lines = [Line(machine[0], replicas, machine[1])]
    what = machine[0]
    if gpu:
        lines.append(Line(gpu[0], replicas * gpu_count, gpu[1]))
        what += f" with {gpu_count} × {gpu[0]}"
    return Estimate(f"{replicas} × {what}", hours, tuple(lines), tuple(notes), increment)


def bill(
    jobs: pd.DataFrame, estimate_cost: Callable[..., Estimate], ready: float = 0.0
) -> pd.DataFrame:
    """Return what the jobs of a list_jobs() cost at list price: its columns, and `dollars`.

    `ready` is how many seconds more each machine is paid for, to get ready. A study has that once
    for each trial; its own seconds count once, however many of its trials ran at a time, and are
    taken as shared evenly among them, because each trial is a job that is rounded by itself. A job
    without a known price has NaN.
    """
    dollars = [
        _of_job(machine, replicas, seconds, estimate_cost=estimate_cost, ready=ready)
        for machine, replicas, seconds in zip(
            jobs["machine"], jobs["replicas"], jobs["seconds"], strict=True
        )
    ]
    return jobs.assign(dollars=dollars).astype({"dollars": float})


def _of_job(
    text: str,
    replicas: int,
    seconds: float,
    *,
    estimate_cost: Callable[..., Estimate],
    ready: float,
) -> float:
    if pools := POOLS.findall(text):
        return sum(
            _of_job(machine, int(count), seconds, estimate_cost=estimate_cost, ready=ready)
            for count, machine in pools
        )
    asked = ASKED.fullmatch(text)
    if not asked:
        return math.nan
    trials, machine, count, gpu = asked.groups()
    gpus = {"gpu": gpu, "gpu_count": int(count)} if gpu else {}
    times = max(1, int(trials or 1))  # a study that has sent no trial yet is counted as one
    hours = (seconds / times + ready) / 3600
    try:
        return times * estimate_cost(machine, replicas=replicas, hours=hours, **gpus).usd
    except LessonError:
        return math.nan


def short_name(gpu: str) -> str:
    """Return a GPU's name without its maker."""
    return gpu.removeprefix("NVIDIA_").removeprefix("TESLA_")


def dollars(usd: float) -> str:
    """Return an amount for reading: cents, and below ten cents two digits that count."""
    if abs(usd) >= 0.1 or usd == 0:
        return f"${usd:.2f}"
    decimals = min(12, 1 - math.floor(math.log10(abs(usd))))
    return f"${usd:.{decimals}f}"


def hours_in_words(hours: float) -> str:
    """Return a length of time in the unit that suits it."""
    if hours >= 1:
        return f"{hours:g} h"
    return f"{hours * 60:.3g} min" if hours * 60 >= 1 else f"{hours * 3600:.3g} s"
