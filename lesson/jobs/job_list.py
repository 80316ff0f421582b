"""The list of jobs that list_jobs() returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lesson.jobs.spec import JobSpec, JobStatus, Times

if TYPE_CHECKING:
    import pandas as pd


def row_of(spec: JobSpec, now: JobStatus) -> Sequence[Any]:
    """Return a job's row in the list of jobs, from the facts about it."""
    machine = str(spec) if now.trials is None else f"{now.trials} trials on {spec}"
    return row(
        spec.name,
        (now.state, now.service_state),
        now.times,
        replicas=spec.replicas,
        machine=machine,
    )


def row(
    name: str, state: tuple[str, str], when: Times, *, replicas: int, machine: str
) -> Sequence[Any]:
    """Return a job's row in the list of jobs; `state` is ours, and then the service's own word."""
    created = when.created.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return name, *state, created, round(when.seconds(), 1), replicas, machine


def as_table(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Return the rows of jobs as a table."""
    import pandas as pd

    columns = ["name", "state", "service_state", "created", "seconds", "replicas", "machine"]
    return pd.DataFrame(rows, columns=columns)
