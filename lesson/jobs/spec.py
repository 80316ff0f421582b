"""What a job is on any cloud: what it was asked to do, how far it is, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Times:
    """When a job was made, when its machines started, and when it ended."""

    created: datetime
    started: datetime | None
    ended: datetime | None

    def seconds(self) -> float:
        """Return the seconds from its making to its end, or until now."""
        return _between(self.created, self.ended)

    def queue_seconds(self) -> float:
        """Return the seconds until the machines started, or ended without, or until now."""
        return _between(self.created, self.started or self.ended)

    def machine_seconds(self) -> float:
        """Return the seconds of the machines so far."""
        return _between(self.started, self.ended) if self.started else 0.0


def _between(begin: datetime, end: datetime | None) -> float:
    return max(0.0, ((end or datetime.now(UTC)) - begin).total_seconds())


@dataclass(frozen=True)
class JobSpec:
    """What a job was asked to do; of a tuning job, what each of its trials was."""

    name: str
    machine: str
    replicas: int
    spot: bool
    flags: Mapping[str, str]
    base: str  # the URI below which jobs write; empty where none was given
    output: str  # the URI of the results; empty where there is none
    gpu: str | None = None
    gpu_count: int = 0  # to each replica
    written: tuple[str, ...] = ()  # the URIs of what the job has left in buckets, and of its code

    def __str__(self) -> str:
        """Name the machine in a few words, as the run table shows it."""
        gpu = f" + {self.gpu_count} × {self.gpu}" if self.gpu else ""
        return self.machine + gpu + (", spot" if self.spot else "")


@dataclass(frozen=True)
class JobStatus:
    """How far a job is, as last seen."""

    state: str  # one of lesson.jobs.states
    service_state: str  # the service's own word, as list_jobs() shows it
    word: str  # the service's most exact word, as the progress of a job shows it
    times: Times
    interruptions: int = 0
    trials: int | None = None  # how many a tuning job has sent; None for any other job


def epochs_of(flags: Mapping[str, str]) -> int | None:
    """Return how many epochs a job was told to train; None if that is not a number."""
    try:
        return int(float(flags["epochs"]))
    except (KeyError, ValueError, OverflowError):
        return None
