"""The words of what is paid for by time: machines, what for, and from when to when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Machines:
    """So many machines of a type, each with so many GPUs that have a price of their own."""

    type: str
    count: int = 1
    gpu: str = ""  # as the cloud names it; "": none, or a part of the machine's type
    gpu_count: int = 0  # of each machine


@dataclass(frozen=True)
class RentedResource:
    """What a cloud has rented out; what it costs is for others to say (local_cloud.billing)."""

    cloud: str  # the dialect's name
    kind: str  # the service's word for it: "endpoint"
    name: str  # the resource's name, as the service says it
    machines: tuple[Machines, ...]
    owner: str = ""  # the resource that is removed to end it, if that is another one
    spot: bool = False
    scale: float = 1.0  # so many seconds of the service does a second here stand for

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> RentedResource:
        """Read what a document holds."""
        machines = tuple(Machines(**each) for each in document["machines"])
        return cls(**{**document, "machines": machines})


class Span(NamedTuple):
    """A time during which the number of what is rented stayed the same."""

    since: float  # seconds since the epoch
    until: float | None  # None: it goes on
    times: int  # so often the machines, an endpoint's replicas say


@dataclass(frozen=True)
class Rental:
    """What is or was rented, and when; while nothing runs of it there is no span."""

    id: str
    rented: RentedResource
    spans: tuple[Span, ...] = ()
    is_queued: bool = False  # a job that waits for its turn

    @property
    def is_running(self) -> bool:
        """Return whether it costs money now."""
        return bool(self.spans) and self.spans[-1].until is None

    @property
    def times(self) -> int:
        """Return how many there are now."""
        return self.spans[-1].times if self.is_running else 0

    def with_count(self, times: int, now: float) -> Rental:
        """Return the rental as it stands when there are so many from now on; 0: none."""
        if times == self.times:
            return self
        spans = self.spans
        if spans:  # the clock may have been set back since
            now = max(now, spans[-1].since, spans[-1].until or 0.0)
        if self.is_running:
            spans = (*spans[:-1], spans[-1]._replace(until=now))
        return replace(self, spans=(*spans, Span(now, None, times)) if times else spans)

    def runs(self, now: float) -> Iterator[Span]:
        """Yield the times for which each single one ran, which end at the latest now; with times 1.

        Where the number went from 1 to 3 and back, the second and the third have a run each.
        """
        for place in range(1, max((span.times for span in self.spans), default=0) + 1):
            begun = ended = 0.0
            for span in self.spans:
                if span.times < place:
                    continue
                until = max(now, span.since) if span.until is None else span.until
                if begun and span.since == ended:  # it goes on
                    ended = until
                    continue
                if begun:
                    yield Span(begun, ended, 1)
                begun, ended = span.since, until
            yield Span(begun, ended, 1)

    def document(self) -> dict[str, Any]:
        """Return the rental as JSON can hold it."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Rental:
        """Read the rental of a document."""
        spans = tuple(Span(*span) for span in document["spans"])
        return cls(document["id"], RentedResource.of(document["rented"]), spans)
