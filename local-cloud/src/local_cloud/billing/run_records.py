"""Runs that are billed by the piece, whatever they do: what a service notes of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from local_cloud.store.records import Records

KIND = "billed-run"


@dataclass(frozen=True)
class Run:
    """A run that has begun; it stays on the bill when its resource is deleted."""

    cloud: str  # the dialect's name
    kind: str  # the service's word for it
    name: str  # the resource's, as the service says it
    at: float  # seconds since the epoch


def note(records: Records, run: Run) -> None:
    """Keep a run for the bill, in the caller's transaction if there is one."""
    records.put(KIND, f"{run.at:017.6f} {run.name}", asdict(run))


def list_runs(records: Records) -> Iterator[Run]:
    """Yield all runs, the oldest first."""
    for _, document in records.list(KIND):
        yield Run(**document)
