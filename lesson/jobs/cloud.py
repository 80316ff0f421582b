"""What the verbs that only wait, list, cancel and count ask of a cloud.

They are written once, against this. `describe.py` on each side answers it for its service. A `job`
is the SDK's own object, and what is told of it is as last seen: `refresh` asks the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lesson.jobs.epochs import Epoch
from lesson.jobs.spec import JobSpec, JobStatus
from lesson.jobs.studies import Space, Trial
from lesson.money.costs import Estimate


@dataclass(frozen=True)
class Search:
    """What a tuning job searches, and what it has found so far."""

    metric: str
    goal: str  # minimize or maximize
    planned: int  # how many trials there are to be at most
    space: Space
    trials: tuple[Trial, ...]


class Cloud(Protocol):
    """A service that runs jobs, as a session uses it."""

    @property
    def service(self) -> str:
        """Return the service's name, as the run table shows it."""

    @property
    def uri(self) -> str:
        """Return the URI of the session's bucket."""

    def refusals(self, what: str, /) -> AbstractContextManager[None]:
        """Turn what the service refuses into a LessonError of one sentence."""

    # ---- which jobs there are -------------------------------------------------------------------
    def every(self) -> Iterable[Any]:
        """Return the training and tuning jobs, newest first, without those behind another."""

    def find(self, name: str, /) -> Any:
        """Return the newest job of this name; None if there is none."""

    def is_job(self, thing: Any, /) -> bool:
        """Tell whether something is an SDK's job at all."""

    def is_tuning(self, job: Any, /) -> bool:
        """Tell whether a job is a tuning job, behind which there is a job for each trial."""

    def backing_job(self, job: Any, /) -> Any:
        """Return the job that has the machines, their times and their errors."""

    # ---- what a job is, and how far -------------------------------------------------------------
    def spec(self, job: Any, /) -> JobSpec:
        """Return what the job was asked to do."""

    def refresh(self, job: Any, /) -> None:
        """Ask the service how the job is."""

    def status(self, job: Any, /) -> JobStatus:
        """Return how far the job is."""

    def looks_at(self, job: Any, /) -> Iterator[tuple[JobStatus, Sequence[Epoch]]]:
        """Yield what each look at a job shows, with all epochs known so far, until it has ended."""

    def failure_reason(self, job: Any, /) -> str:
        """Return what went wrong, in sentences."""

    def cancel(self, job: Any, /) -> None:
        """Ask the service to end the job."""

    # ---- tuning jobs ----------------------------------------------------------------------------
    def search(self, job: Any, /) -> Search:
        """Return what a tuning job searches, and its trials."""

    def trial_job(self, name: str, /) -> Any:
        """Return the job that a trial is."""

    def trial_reason(self, trial: Trial, /) -> str:
        """Return why a trial has no result, and what to look at."""

    # ---- what it costs, and what it leaves ------------------------------------------------------
    def estimate(self, spec: JobSpec, hours: float) -> Estimate:
        """Return what a job's machines cost in the session's region."""

    def read_text(self, uri: str, /) -> str | None:
        """Return the text of an object; None if it is not there (yet)."""

    def fetch(self, uri: str, folder: Path, /) -> Path:
        """Copy the results at a URI into a folder, and return that."""
