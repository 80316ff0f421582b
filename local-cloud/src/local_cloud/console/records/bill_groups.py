"""The bill by job, study, pipeline and endpoint, under the names that their sender gave them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from local_cloud.client.bill_rows import Row
from local_cloud.console.records import jobs, pipeline_runs
from local_cloud.console.records.job_rows import TASK, TRIAL
from local_cloud.console.site import words
from local_cloud.platform import Platform

ENDPOINT, RUN = "endpoint", "pipeline run"
# Of what kind of resource is in which part of the bill; what is not named here is a job.
PARTS = {TRIAL: "Tuning", TASK: "Pipelines", RUN: "Pipelines", ENDPOINT: "Endpoints"}
ORDER = ("Jobs", "Tuning", "Pipelines", "Endpoints", "Storage and queries")


@dataclass(frozen=True)
class Group:
    """All that one thing has cost."""

    title: str
    page: str  # relative to the console's root; "": it was deleted, or has no page
    rows: Sequence[Row]  # the oldest first

    @property
    def dollars(self) -> float | None:
        """Return the sum of what has a price; None if nothing has."""
        return add(row.dollars for row in self.rows)


@dataclass(frozen=True)
class Part:
    """A part of the bill, and its groups, the newest first."""

    title: str
    groups: Sequence[Group]

    @property
    def dollars(self) -> float | None:
        """Return the sum of what has a price; None if nothing has."""
        return add(group.dollars for group in self.groups)


def add(dollars: Iterable[float | None]) -> float | None:
    """Return the sum of what is known; None if nothing is."""
    known = [one for one in dollars if one is not None]
    return sum(known) if known else None


def of(platform: Platform, rows: Iterable[Row], most: int) -> list[Part]:
    """Return the parts of a bill, with so many groups in all at most, the newest."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.owner or row.resource or row.what, []).append(row)
    newest = sorted(groups.items(), key=lambda each: each[1][-1].since, reverse=True)[:most]
    parts: dict[str, list[Group]] = {}
    for name, together in newest:
        group = Group(
            title(platform, name, together[0].what), _page(platform, together[0]), together
        )
        parts.setdefault(_part(together[0]), []).append(group)
    return [Part(name, parts[name]) for name in ORDER if name in parts]


def _part(row: Row) -> str:
    return PARTS.get(row.kind, "Jobs") if row.resource else "Storage and queries"


def title(platform: Platform, name: str, otherwise: str) -> str:
    """Return what its sender called a resource; name: the service's, in full."""
    for kind in ("vertex", "vertex-pipeline", "vertex-endpoints"):
        document = platform.records.get(kind, name) or {}
        resource = document.get("resource") or document
        if called := resource.get("displayName"):
            return str(called)
    is_id = name.startswith("projects/") or "://" in name
    return otherwise if is_id else words.short(name) or otherwise


def _page(platform: Platform, row: Row) -> str:
    records, name = platform.records, row.owner or row.resource
    if row.kind == TRIAL:
        known = any(study.id == name for study in platform.studies.all())
        return f"study?name={quote(name, safe='')}" if known else ""
    if row.kind in (TASK, RUN):
        return pipeline_runs.link(name) if records.get("vertex-pipeline", name) else ""
    if row.kind == ENDPOINT:
        known = any(records.get(kind, name) for kind in ("vertex-endpoints", "endpoint"))
        return f"endpoint?name={quote(name, safe='')}" if known else ""
    job = words.short(row.resource)
    return f"jobs/{quote(job)}" if job and jobs.find(platform, job) else ""


@dataclass(frozen=True)
class Source:
    """Where a price is from."""

    name: str  # of what it is the price
    price: str
    source: str
    read: str
    sure: str


def sources(rows: Iterable[Row]) -> list[Source]:
    """Return the source of each price, once."""
    by_price = {}
    for row in rows:
        if row.unit_price is not None:
            name = row.on.rpartition(" × ")[2].partition(",")[0] if row.kind != RUN else RUN
            name = name if row.resource else row.cloud
            by_price[name, row.cloud, row.unit_price] = Source(
                f"{name}, {row.cloud}" if row.resource else name,
                unit_price(row),
                row.source,
                row.read or "undated",
                row.sure,
            )
    return sorted(by_price.values(), key=lambda one: one.name)


def unit_price(row: Row) -> str:
    """Write the price of a unit: "0.19 an hour"."""
    unit = {"hours": "an hour", "GB-months": "a GB-month", "TiB": "a TiB", "runs": "a run"}
    price = "unknown" if row.unit_price is None else f"{row.unit_price:.6g}"
    return f"{price} {unit.get(row.unit, row.unit)}"


def used(row: Row) -> str:
    """Write how much was used, in units that suit it: seconds, not hundredths of an hour."""
    if row.seconds is not None:
        return words.duration(row.seconds)
    return f"{row.quantity:.2g} {row.unit}" if row.quantity != 1 else f"1 {row.unit.rstrip('s')}"
