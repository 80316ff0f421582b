"""What was ever rented, on record: a bill needs it after the resource itself is gone.

A job's own record says when it had machines, so it gets a record here only when it is deleted.
Endpoints and notebook instances have one from their first moment. It is paid for what is rented
until it is given back, whether or not the local cloud runs in the meantime: the real service would
not have stopped either.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from local_cloud.engine.rental import Machines, Rental, RentedResource, Span
from local_cloud.engine.spec import Job, State
from local_cloud.store import readable
from local_cloud.store.records import Records

OPEN, CLOSED = "rental", "rental-closed"
JOB = "job"  # the kind of the engine's own records (job_table.py)


class Rentals:
    """All rentals; each method writes to the disk, in the caller's transaction if there is one."""

    def __init__(self, records: Records) -> None:
        """Keep the records; nothing is kept in memory."""
        self._records = records

    def open(self, rental_id: str, rented: RentedResource, times: int = 1) -> None:
        """Note that so many are rented from now on."""
        self._put(Rental(rental_id, rented).with_count(times, time.time()))

    def change(self, rental_id: str, times: int) -> None:
        """Note that there are so many from now on; do nothing if there is no such rental."""
        if (rental := self.get(rental_id)) and rental.times != times:
            self._put(rental.with_count(times, time.time()))

    def close(self, rental_id: str) -> None:
        """Note that it is given back now; the name may be used again."""
        if rental := self.get(rental_id):
            with self._records.transaction():
                self._records.delete(OPEN, rental_id)
                self._keep(rental.with_count(0, time.time()))

    def keep_job(self, job: Job) -> None:
        """Remember what a job has cost whose record is about to be deleted."""
        self._keep(of_job(job))

    def get(self, rental_id: str) -> Rental | None:
        """Return the rental that is open under this id, if there is one."""
        document = self._records.get(OPEN, rental_id)
        return Rental.of(document) if document else None

    def __iter__(self) -> Iterator[Rental]:
        """Yield all rentals, those of jobs among them."""
        for kind in (CLOSED, OPEN):
            documents = self._records.list(kind)
            yield from readable.each(kind, documents, lambda _, document: Rental.of(document))
        documents = self._records.list(JOB)
        yield from readable.each(JOB, documents, lambda _, document: of_job(Job.of(document)))

    def _put(self, rental: Rental) -> None:
        self._records.put(OPEN, rental.id, rental.document())

    def _keep(self, rental: Rental) -> None:
        if rental.spans:
            self._records.put(CLOSED, f"{rental.id} {rental.spans[0].since!r}", rental.document())


def of_job(job: Job) -> Rental:
    """Return when a job had its machines.

    That is during its attempts, and not while it waited for its turn.

    The latest has them until its results are collected. Where the server was killed nobody knows
    the end: it is the last sign of life.
    """
    cloud = job.dialect.partition("-")[0]  # "sagemaker-processing" is SageMaker's
    unknown = RentedResource(cloud, "job", job.id, (Machines("", job.size),))
    spans = [Span(one.staged, one.ended, 1) for one in job.attempts]
    if job.ended and spans and not (spans[-1].until and _is_cut_off(job)):
        spans[-1] = spans[-1]._replace(until=job.ended)
    return Rental(job.id, job.rented or unknown, tuple(spans), job.state is State.QUEUED)


def _is_cut_off(job: Job) -> bool:
    return job.outcome is not None and job.outcome.reason in ("lost", "stopped")
