"""The jobs as they are on record: the disk first, then memory, then whoever waits for a change."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from local_cloud.engine.jobs.rental_records import JOB as KIND
from local_cloud.engine.jobs.rental_records import Rentals
from local_cloud.engine.spec import Job, NoSuchJob, Outcome
from local_cloud.store import clock
from local_cloud.store.records import NOT_WRITTEN, Records

RETRY = 1.0  # seconds until what the disk has refused is tried again


class JobTable:
    """All jobs, each seen only as it is on record.

    What a client asks for fails if it cannot be recorded. What happens to a job cannot: that is
    kept and recorded as soon as the disk takes it.
    """

    def __init__(self, records: Records) -> None:
        """Keep the records; nothing is read before load()."""
        self._records = records
        self._jobs: dict[str, Job] = {}  # in the order in which they came
        self._unwritten: dict[str, Job] = {}  # as those stand that could not be recorded so
        self._changed: dict[str, asyncio.Event] = {}

    def load(self) -> list[Job]:
        """Read the jobs that an earlier server has left, in the order in which they came."""
        jobs = []
        for name, document in self._records.list(KIND):
            with self._records.name_record_in_errors(KIND, name):
                jobs.append(Job.of(document))
        jobs.sort(key=lambda job: job.turn)
        self._jobs = {job.id: job for job in jobs}
        return jobs

    def __contains__(self, job_id: str) -> bool:
        """Return whether there is such a job."""
        return job_id in self._jobs

    def __iter__(self) -> Iterator[Job]:
        """Yield all jobs in the order in which they came."""
        yield from list(self._jobs.values())

    def get(self, job_id: str) -> Job:
        """Return the job as it is on record; NoSuchJob if there is none."""
        try:
            return self._jobs[job_id]
        except KeyError:
            raise NoSuchJob(f"there is no job {job_id}: it was deleted, or never sent") from None

    def latest(self, job_id: str) -> Job:
        """Return the job as it stands, whether or not that could be recorded yet."""
        return self._unwritten.get(job_id) or self._jobs[job_id]

    async def wait_for_change(self, job: Job, timeout: float) -> Job:
        """Return the job as soon as its state is not that of `job`, or after timeout seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self.get(job.id).state == job.state:
                    await self._changed.setdefault(job.id, asyncio.Event()).wait()
        return self.get(job.id)

    def put(self, job: Job, then: Callable[[], object] = lambda: None) -> None:
        """Record a job as it now stands, let it be seen, then call; raises NOT_WRITTEN.

        Inside a transaction both wait for its end, and do not happen if it is rolled back.
        """

        def see() -> None:
            self._jobs[job.id] = job
            self._wake(job.id)
            then()

        self._records.put(KIND, job.id, job.document())
        self._records.when_written(see)

    def update(self, job: Job) -> None:
        """Record what has happened to a job, now or as soon as the disk takes it."""
        self._unwritten[job.id] = job
        self._write(job.id)

    def _write(self, job_id: str) -> None:
        if not (job := self._unwritten.get(job_id)):
            return
        try:
            self.put(job)
        except NOT_WRITTEN as problem:
            logging.getLogger(__name__).error("job %s is not recorded: %s", job_id, problem)
            asyncio.get_running_loop().call_later(RETRY, self._write, job_id)
        else:
            del self._unwritten[job_id]

    def write_all(self) -> None:
        """Try once more, at the end of the server."""
        for job_id in list(self._unwritten):
            self._write(job_id)

    def remove(self, job_id: str, then: Callable[[], object]) -> None:
        """Forget a job, but for what it has cost, then call; as in put."""

        def forget() -> None:
            self._jobs.pop(job_id, None)
            self._wake(job_id)
            then()

        with self._records.transaction():
            Rentals(self._records).keep_job(self.get(job_id))
            self._records.delete(KIND, job_id)
            self._records.when_written(forget)

    def _wake(self, job_id: str) -> None:
        if event := self._changed.pop(job_id, None):
            event.set()


def with_outcome(job: Job, outcome: Outcome) -> Job:
    """Return the job with its end, which is now."""
    latest = job.attempts[-1].latest if job.attempts else None
    ended = clock.now_after(job.created, job.started, latest)
    return replace(job, state=outcome.state, ended=ended, outcome=outcome)


def cut_off(job: Job, folder: Path) -> Job:
    """Return the job that a killed server has left.

    Its attempt ended when its logs were last written.
    """
    if not job.attempts:
        return job
    signs = (path.lstat().st_mtime for path in folder.glob("*.log"))  # the job may have put links
    return with_attempt(job, ended=max(job.attempts[-1].staged, *signs, 0.0))


def with_attempt(job: Job, **facts: float) -> Job:
    """Return the job as it stands when this has come to be known of its latest attempt."""
    *earlier, latest = job.attempts
    facts = {fact: max(moment, latest.latest) for fact, moment in facts.items()}
    return replace(job, attempts=(*earlier, latest if latest.ended else replace(latest, **facts)))
