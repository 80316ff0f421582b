"""The words of serving: what is deployed, how it is run and how it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Protocol

from local_cloud.engine.spec import EngineError, JobContext, Replica


class NoSuchDeployment(EngineError):
    """No deployment has this id."""


class Unanswered(EngineError):
    """No replica answered a request in time, or each that got it ended; the message says which."""


class ServingState(StrEnum):
    """How a deployment stands; the last one is final."""

    STARTING = "STARTING"  # no replica has been ready yet
    READY = "READY"  # since a replica was ready for the first time, also while it is replaced
    FAILED = "FAILED"  # its replicas ended, again and again, before one was ready


@dataclass(frozen=True)
class Deployment:
    """A model that is served by replicas, as it is on record; times are seconds since the epoch."""

    id: str
    dialect: str
    endpoint: str  # whose requests it may get
    minimum: int  # replicas
    maximum: int
    state: ServingState
    created: float
    ready: float | None = None  # for the first time
    message: str = ""  # why it has failed

    def document(self) -> dict[str, Any]:
        """Return the deployment as JSON can hold it."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Deployment:
        """Read the deployment of a document."""
        return cls(**{**document, "state": ServingState(document["state"])})


@dataclass(frozen=True)
class ServingPlan:
    """How the replicas of a deployment run, worked out when the first one starts."""

    # A replica of this name that listens on this port of its loopback (0.0.0.0 will do). The port
    # is the wanted one where each replica has a network of its own, and else a free one.
    replica: Callable[[str, int], Replica]
    port: int  # wanted
    health: str  # the path at which GET gives 200 when a replica is ready
    start_seconds: float = 240.0  # within which it has to be
    answer_seconds: float = 60.0  # for a response
    grace: float = 30.0  # seconds between SIGTERM and SIGKILL
    outside: tuple[int, ...] = ()  # ports of this machine's loopback that replicas may reach
    notes: tuple[str, ...] = ()  # lines at the head of every replica's log


class ServingDialect(Protocol):
    """What the engine asks of a cloud about its deployments."""

    def stage(self, deployment_id: str, context: JobContext) -> ServingPlan:
        """Bring the model and say what to run; EngineError fails the deployment with its sentence.

        Called in a thread, for the first replica, and again after a restart of the server.
        """

    def settle(self, deployment: Deployment) -> None:
        """React to a deployment that is READY or FAILED: now is the time to send traffic to it.

        Called on the loop, where the methods of Deployments may be called; again after a restart.
        """


@dataclass(frozen=True)
class Figures:
    """What a deployment has done since it was made, and how it stands now."""

    requests: int = 0
    refused: int = 0  # answered with a status of 400 to 499
    failed: int = 0  # answered with 500 or more, or not at all
    resent: int = 0  # sent again because a replica ended
    restarts: int = 0  # replicas that ended by themselves
    replicas: int = 0  # ready now
    active: int = 0  # requests that are being answered now, or wait
    # Of the latest 1,000 responses, seconds from the request to the response.
    median: float = 0.0
    p99: float = 0.0

    def document(self) -> dict[str, Any]:
        """Return the counts that outlive the server."""
        kept = ("requests", "refused", "failed", "resent", "restarts")
        return {name: getattr(self, name) for name in kept}
