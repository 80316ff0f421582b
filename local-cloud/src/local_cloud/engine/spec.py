"""The words of the engine: what a job is, what it is made of and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from local_cloud.engine.base import Base
from local_cloud.engine.rental import RentedResource
from local_cloud.errors import LocalCloudError


class EngineError(LocalCloudError):
    """A job cannot do what was asked; the message says why and what to do."""


class NoSuchJob(EngineError):
    """No job has this id."""


class JobRefused(EngineError):
    """Raised by a dialect's stage(): the job fails with this sentence."""

    def __init__(self, message: str, reason: str = "staging") -> None:
        """`reason`: of the outcome."""
        super().__init__(message)
        self.reason = reason


class State(StrEnum):
    """Where a job stands; the last three are final."""

    QUEUED = "QUEUED"
    STAGING = "STAGING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"

    @property
    def ended(self) -> bool:
        """Return whether the state is final."""
        return self in (State.SUCCEEDED, State.FAILED, State.STOPPED)


@dataclass(frozen=True)
class Replica:
    """One process of a job, with all that it starts."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path | None = None  # working directory; None: the replica's own folder
    mounts: Mapping[str, Path] = field(default_factory=dict)  # "/gcs" -> what is there: shared
    reads: tuple[Path, ...] = ()  # what it needs of this machine besides; changes stay its own
    launched: Path | None = None  # the folder with the program that its command, a launcher, runs
    warm: bool = False  # forked from a process that has imported torch: the engine decides
    image: str = ""  # whose environment it runs in
    hosts: tuple[str, ...] = ()  # names of loopback, where the machine allows mounts


class Kill(NamedTuple):
    """A replica that is ended by SIGKILL on purpose, as on a machine that breaks down."""

    replica: int  # its index
    after: float  # seconds for which it runs
    reason: str  # of the outcome


@dataclass(frozen=True)
class Plan:
    """How a job runs, worked out when its turn comes."""

    replicas: tuple[Replica, ...]
    primary: int | None = None  # its exit 0 ends the job well; None: all must exit with 0
    timeout: float | None = None  # seconds of running, of all attempts together
    deadline: float | None = None  # seconds since the first attempt began, the pauses included
    grace: float = 10.0  # seconds between SIGTERM and SIGKILL
    retried: frozenset[int] = frozenset()  # exit codes after which the whole job runs again
    retries: int = 0  # so often, at most
    interruptions: int | None = None  # after so many the job runs again; None: there are none
    notes: tuple[str, ...] = ()  # lines at the head of every replica's log
    delay: float = 0.0  # seconds from the staging to the start
    kill: Kill | None = None


ANY_NUMBER = 1 << 30  # of interruptions


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    reason is one of: succeeded, exit (a replica failed), timeout, deadline, interrupted (once more
    than the plan allows), space (it wrote too much), staging, collect (the results could not be
    brought away), stopped, lost (the server ended while the job ran). Those that are only ever
    rehearsed: quota, memory (a replica used too much), machine (one broke down).
    """

    state: State
    reason: str
    message: str
    replica: str | None = None  # the one that failed first
    code: int | None = None  # its exit code; negative: the signal that ended it
    last_lines: tuple[str, ...] = ()  # of its log


@dataclass(frozen=True)
class Attempt:
    """One of the times that a job is run; times are seconds since the epoch.

    Another one follows, after a pause, when this one was interrupted or failed in a way that the
    plan retries. In that pause, and while inputs are brought, the job is STAGING.
    """

    staged: float  # its inputs are brought since
    started: float | None = None  # its replicas run since
    interrupted: float | None = None  # its replicas were sent SIGTERM, to be started again
    ended: float | None = None  # none of its processes is left

    @property
    def latest(self) -> float:
        """Return the latest of its times."""
        times = (self.staged, self.started, self.interrupted, self.ended)
        return max(moment for moment in times if moment is not None)


@dataclass(frozen=True)
class Job:
    """A job as it stands; times are seconds since the epoch."""

    id: str
    dialect: str
    size: int  # replicas
    state: State
    created: float
    turn: int = 0  # its place in the order in which jobs came
    gpus: int = 0  # asked for
    started: float | None = None  # RUNNING for the first time
    ended: float | None = None
    outcome: Outcome | None = None
    attempts: tuple[Attempt, ...] = ()  # the latest may still run
    rented: RentedResource | None = None  # what a real service would have rented out for it

    @property
    def interruptions(self) -> int:
        """Return how many attempts were interrupted."""
        return sum(attempt.interrupted is not None for attempt in self.attempts)

    def document(self) -> dict[str, Any]:
        """Return the job as JSON can hold it."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Job:
        """Read the job of a document."""
        attempts = tuple(Attempt(**attempt) for attempt in document.get("attempts", ()))
        fields = {**document, "state": State(document["state"]), "attempts": attempts}
        if rented := document.get("rented"):
            fields["rented"] = RentedResource.of(rented)
        if ending := document["outcome"]:
            lines = tuple(ending["last_lines"])
            fields["outcome"] = Outcome(
                **{**ending, "state": State(ending["state"]), "last_lines": lines}
            )
        return cls(**fields)


class Install(Protocol):
    """`pip install` with these words, into the job's own environment for an image.

    Returns lines that say what was done, none if all was there; EngineError if something cannot be
    had.
    """

    def __call__(self, words: Sequence[str], image: str = "") -> list[str]:
        """Install."""


@dataclass(frozen=True)
class JobContext:
    """What a job has of this machine."""

    folder: Path  # the job's own
    threads: int  # cores for each replica
    gpus: tuple[int, ...]  # given to this job
    port: Callable[[], int]  # a free loopback port, this job's until it ends
    install: Install
    base: Callable[[str], Base]  # what replicas of an image stand on
