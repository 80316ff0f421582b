"""The jobs of SageMaker: list them, cancel one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from AWS_helpers import describe
from lesson.jobs import listing

if TYPE_CHECKING:
    import pandas as pd


def list_jobs(mine: bool = False) -> pd.DataFrame:
    """Return the newest 100 training and tuning jobs of the region, newest first.

    In an account that several people share, `mine` leaves out the jobs that write elsewhere
    than into this session's bucket; it looks at the newest 1,000.
    """
    return listing.list_jobs(describe.cloud(), mine)


def cancel(run_or_job: Any) -> None:
    """Ask the service to end a job; takes what wait() takes. A job that has ended stays so."""
    listing.cancel(describe.cloud(), run_or_job)
