"""What a bill is: its rows, what still costs money, and how both are printed. Standard library."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

HEADS = ("what", "on", "since", "until", "quantity", "unit price", "dollars", "price read")


@dataclass(frozen=True)
class Row:
    """So much of one thing at one price; times are seconds since the epoch."""

    cloud: str  # "Vertex AI"
    what: str  # "custom job 123"
    on: str  # "2 × n1-standard-4"; of a bucket, its class
    since: float
    until: float | None  # None: it goes on
    quantity: float  # as it is billed, so rounded up where the service does that
    unit: str  # "hours", of all machines together; "GB-months"; "TiB"; "runs"
    unit_price: float | None  # None: no price is known
    dollars: float | None
    source: str = ""  # the URL of the page with the price
    read: str = ""  # the day it was read; empty where the source has no date
    sure: str = ""  # how sure it is
    resource: str = ""  # the name, in full, of what was paid for
    owner: str = ""  # of a trial or a task: the name of its study or pipeline
    kind: str = ""  # the service's word for it: "custom job"
    seconds: float | None = None  # of all machines together, if they are paid for by time


@dataclass(frozen=True)
class Leak:
    """Something that costs money now, and goes on until it is removed."""

    cloud: str
    what: str
    on: str
    since: float
    dollars_per_day: float | None  # None: no price is known
    remove: str  # the Python that ends it
    dollars: float  # so far, as far as there are prices
    kind: str  # the service's word: "endpoint"
    resource: str = ""  # the name, in full, of what is paid for


@dataclass(frozen=True)
class Bill:
    """What everything has cost until a moment, and what still costs."""

    at: float
    rows: Sequence[Row]
    leaks: Sequence[Leak]
    queued: Sequence[Leak] = ()  # jobs that will cost so much when their turn comes

    @property
    def dollars(self) -> float:
        """Return the sum of what has a price."""
        return sum(row.dollars for row in self.rows if row.dollars is not None)

    @property
    def unpriced(self) -> list[Row]:
        """Return the rows of which no price is known; the sum is without them."""
        return [row for row in self.rows if row.dollars is None]

    @property
    def dollars_per_day(self) -> float:
        """Return what the leaks with a price cost each day."""
        return sum(leak.dollars_per_day or 0.0 for leak in self.leaks)

    def document(self) -> dict[str, Any]:
        """Return the bill as JSON can hold it, with its sum."""
        return {**asdict(self), "dollars": self.dollars, "dollars_per_day": self.dollars_per_day}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Bill:
        """Read the bill of a document."""
        rows = [Row(**row) for row in document["rows"]]
        leaks, queued = ([Leak(**each) for each in document[part]] for part in ("leaks", "queued"))
        return cls(document["at"], rows, leaks, queued)

    def __str__(self) -> str:
        """Return the bill as `python -m local_cloud bill` prints it."""
        if not self.rows:
            nothing = "Nothing has been used that the real services would have billed."
            return "\n\n".join(filter(None, [nothing, self._list_queued()]))
        return "\n\n".join(
            filter(None, [self._table(), self._describe_unpriced(), self.leak_report()])
        )

    def _table(self) -> str:
        lines = [_cells(row) for row in self.rows]
        lines.append(["total", "", "", "", "", "", f"{self.dollars:.2f}", ""])
        table = _align([list(HEADS), *lines])
        return f"What the same seconds and bytes would have cost on the real services:\n{table}"

    def _describe_unpriced(self) -> str:
        names = [f"{row.what} ({row.on})" for row in self.unpriced]
        return f"Not priced, and not in the total: {'; '.join(names)}." if names else ""

    def leak_report(self) -> str:
        """Report what costs money, or will when its turn comes.

        The report says since when, how much, and which call ends it.

        A queued job costs nothing yet.
        """
        return "\n\n".join(filter(None, [self._list_leaks(), self._list_queued()]))

    def _list_leaks(self) -> str:
        if not self.leaks:
            return "Nothing costs money now." if self.queued else "Nothing costs money any more."
        lines = [f"Still costing money, {self.dollars_per_day:.2f} dollars a day in all:"]
        for leak in self.leaks:
            lines.append(f"- {leak.what} ({leak.on}), since {_moment(leak.since)}, {_price(leak)}")
            lines.append(f"    {leak.remove}")
        return "\n".join(lines)

    def _list_queued(self) -> str:
        if not self.queued:
            return ""
        lines = ["Queued, and will cost money when their turn comes:"]
        for leak in self.queued:
            lines += [f"- {leak.what} ({leak.on}), {_price(leak)}", f"    {leak.remove}"]
        return "\n".join(lines)


def _price(leak: Leak) -> str:
    if leak.dollars_per_day is None:
        return "at an unknown price"
    return f"{amount(leak.dollars_per_day)} dollars a day"


def _cells(row: Row) -> list[str]:
    priced = row.unit_price is not None
    return [
        row.what,
        row.on,
        _moment(row.since),
        "still" if row.until is None else _moment(row.until),
        f"{row.quantity:.6g} {row.unit}",
        f"{row.unit_price:.6g}" if priced else "unknown",
        amount(row.dollars) if row.dollars is not None else "not priced",
        (row.read or "undated") if priced else "",
    ]


def _align(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def amount(usd: float) -> str:
    """Return dollars for reading: cents, and below ten cents two digits that count."""
    if usd >= 0.1 or usd == 0:
        return f"{usd:.2f}"
    return f"{usd:.{min(12, 1 - math.floor(math.log10(usd)))}f}"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
