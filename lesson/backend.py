"""What the verbs that are the same on both clouds need of each one: a back end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lesson.costs import Estimate
from lesson.jobs import Times
from lesson.studies import Study, Trial


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

    state: str  # one of lesson.states
    service_state: str  # the service's own word, as list_jobs() shows it
    word: str  # the service's most exact word, as the progress of a job shows it
    times: Times
    interruptions: int = 0
    trials: int | None = None  # how many a tuning job has sent; None for any other job


class Epoch(NamedTuple):
    """The newest epoch of a training, with its numbers on the validation rows."""

    number: int
    loss: float
    accuracy: float


_EPOCH = re.compile(r"epoch +(\d+) .*validation loss (\S+) +accuracy (\S+)")


def epoch_of(line: str) -> Epoch | None:
    """Return the epoch that a line of train_nn.py's log tells of; None if it is another line."""
    if match := _EPOCH.match(line):
        number, loss, accuracy = match.groups()
        return Epoch(int(number), float(loss), float(accuracy))
    return None


class Backend(Protocol):
    """A cloud's side of the shared verbs; a module with these functions is one.

    A job is the SDK's own object. Only refresh(), and what has to find a job first, asks the
    service: all else is told as last seen.
    """

    SERVICE: str

    def connected(self) -> Any:
        """Return the session of connect(); raise LessonError before that."""

    def refusals(self, what: str, /) -> AbstractContextManager[None]:
        """Turn what the service refuses into a LessonError of one sentence."""

    def every(self) -> Iterable[Any]:
        """Yield the jobs of the project or account, newest first, without those behind another."""

    def named(self, name: str, /) -> Any:
        """Return the job of this name; None if there is none."""

    def is_job(self, thing: Any, /) -> bool:
        """Tell whether something is an SDK's job at all."""

    def is_tuning(self, job: Any, /) -> bool:
        """Tell whether a job is a tuning job, whose trials are jobs too."""

    def refresh(self, job: Any, /) -> None:
        """Ask the service how the job is."""

    def spec(self, job: Any, /) -> JobSpec:
        """Return what the job was asked to do."""

    def status(self, job: Any, /) -> JobStatus:
        """Return how far the job is."""

    def stop(self, job: Any, /) -> None:
        """Ask the service to end the job."""

    def watch(self, job: Any, /) -> Iterator[tuple[JobStatus, Epoch | None]]:
        """Ask again and again, and yield what is seen, the last time when the job has ended."""

    def backing_job(self, job: Any, /) -> Any:
        """Return the job that has the machines, their times and their errors."""

    def failure_reason(self, job: Any, /) -> str:
        """Say in sentences why the job failed."""

    def study_of(self, job: Any, /) -> Study:
        """Return what a tuning job searches, and its trials."""

    def trial_job(self, name: str, /) -> Any:
        """Return the job that a trial is."""

    def trial_reason(self, trial: Trial, /) -> str:
        """Say why a trial has no result."""

    def estimate(self, spec: JobSpec, hours: float, /) -> Estimate:
        """Return what the machines cost for so many hours; PriceUnknown if that is not known."""

    def fetch(self, uri: str, folder: Path, /) -> Path:
        """Copy a job's results into a folder."""
