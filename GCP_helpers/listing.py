"""The jobs of Vertex AI: list them, cancel one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from GCP_helpers import describe
from GCP_helpers.session import current_session, refusals
from lesson.jobs import job_list
from lesson.jobs.states import ENDED
from lesson.jobs.watching import NEWEST, SEEN

if TYPE_CHECKING:
    import pandas as pd

    from GCP_helpers.describe import Job


def list_jobs(mine: bool = False) -> pd.DataFrame:
    """Return the newest 100 training and tuning jobs of the region, newest first.

    In a project that several people share, `mine` leaves out the jobs that write elsewhere
    than into this session's bucket; it looks at the newest 1,000.
    """
    current_session()
    with refusals("listing the jobs"):
        found = _own() if mine else describe.every()
        return job_list.as_table([_row(job) for job in islice(found, NEWEST)])


def own_jobs() -> pd.DataFrame:
    """Return all of this session's jobs among the newest 1,000: what they cost adds up."""
    with refusals("listing the jobs"):
        return job_list.as_table([_row(job) for job in _own()])


def cancel(run_or_job: Any) -> None:
    """Ask the service to end a job; takes what wait() takes. A job that has ended stays so."""
    current_session()
    job = describe.job_of(run_or_job)
    name = describe.spec(job).name
    with refusals(f"cancelling {name}"):
        describe.refresh(job)
        state = describe.status(job).state
        if state in ENDED:
            print(f"{name} had already ended: {state}")
            return
        job.cancel()
    print(f"asked for the end of {name}; wait({name!r}) shows it")


def _own() -> Iterator[Job]:
    """Yield the jobs that write into the session's bucket."""
    uri = f"{current_session().uri}/"
    for job in islice(describe.every(), SEEN):
        if f"{describe.spec(job).base}/".startswith(uri):
            yield job


def _row(job: Job) -> Any:
    return job_list.row_of(describe.spec(job), describe.status(job))
