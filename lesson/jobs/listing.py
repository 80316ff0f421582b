"""The jobs of a cloud: list them, cancel one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from lesson.jobs.cloud import Cloud
from lesson.jobs.lookup import job_of
from lesson.jobs.spec import JobSpec, JobStatus, Times
from lesson.jobs.states import ENDED

if TYPE_CHECKING:
    import pandas as pd

NEWEST = 100  # jobs that list_jobs() shows
SEEN = 1000  # jobs among which it looks for the session's; on SageMaker each costs a request


def list_jobs(cloud: Cloud, mine: bool) -> pd.DataFrame:
    """Return the newest jobs, newest first; `mine`: those that write into the session's bucket."""
    with cloud.refusals("listing the jobs"):
        jobs = _own(cloud) if mine else cloud.every()
        return as_table([_row(cloud, job) for job in islice(jobs, NEWEST)])


def own_jobs(cloud: Cloud) -> pd.DataFrame:
    """Return all of the session's jobs among the newest 1,000: what they cost adds up."""
    with cloud.refusals("listing the jobs"):
        return as_table([_row(cloud, job) for job in _own(cloud)])


def cancel(cloud: Cloud, run_or_job: Any) -> None:
    """Ask the service to end a job; one that has ended stays so."""
    job = job_of(cloud, run_or_job)
    name = cloud.spec(job).name
    with cloud.refusals(f"cancelling {name}"):
        cloud.refresh(job)
        state = cloud.status(job).state
        if state in ENDED:
            print(f"{name} had already ended: {state}")
            return
        cloud.cancel(job)
    print(f"asked for the end of {name}; wait({name!r}) shows it")


def _own(cloud: Cloud) -> Iterator[Any]:
    """Yield the jobs that write into the session's bucket."""
    for job in islice(cloud.every(), SEEN):
        if f"{cloud.spec(job).base}/".startswith(f"{cloud.uri}/"):
            yield job


def _row(cloud: Cloud, job: Any) -> Sequence[Any]:
    return row_of(cloud.spec(job), cloud.status(job))


# ---- as a table ---------------------------------------------------------------------------------
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
