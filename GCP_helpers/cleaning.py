"""Delete what the lesson made, and nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from GCP_helpers import looking
from GCP_helpers.session import MARK, Session, client, connected, refusals
from GCP_helpers.storage import split
from lesson import cleaning
from lesson.cleaning import Thing
from lesson.states import ENDED

if TYPE_CHECKING:
    import google.cloud.storage as storage

    from GCP_helpers.looking import Job


def cleanup(dry_run: bool = True) -> None:
    """List what the lesson made in this project and bucket; with dry_run=False delete it.

    That is the bucket, if connect() made it, with all that is in it and every job that wrote
    there. Of a bucket that was there before, it is the jobs of train() and tune() and what they
    wrote. Raises LessonError, and deletes nothing, while one of these jobs runs.
    """
    session = connected()
    with refusals("cleaning up"), _quiet_sdk():
        bucket = client().lookup_bucket(session.bucket)
        ours = bucket is not None and bucket.labels.get(MARK) == "true"
        jobs = [job for job in looking.every() if _made_by_lesson(job, session, ours)]
        running = [job.display_name for job in jobs if looking.state(job) not in ENDED]
        cleaning.refuse(running)
        things = [*_objects(bucket, jobs, ours), *map(_job, jobs)] if bucket else [*map(_job, jobs)]
        things += _labelled(session)
        cleaning.delete(things, dry_run)
    if bucket and not ours:
        print(f"{session.address} was there before connect(): it stays, and so do your uploads")
    cleaning.say_what_is_left(things, dry_run)


def _made_by_lesson(job: Job, session: Session, bucket_is_ours: bool) -> bool:
    base = looking.asked(job).base
    marked = job.labels.get(MARK) == session.labels[MARK]
    return marked or (bucket_is_ours and base.startswith(f"{session.address}/"))


def _objects(bucket: storage.Bucket, jobs: Iterable[Job], ours: bool) -> Iterator[Thing]:
    """The objects, and after them the bucket if it is ours."""
    for prefix in [""] if ours else _prefixes(bucket, jobs):
        blobs = list(client().list_blobs(bucket, prefix=prefix))
        if blobs:
            size = sum(blob.size for blob in blobs) / 2**20
            name = f"{len(blobs)} objects in gs://{bucket.name}/{prefix}, {size:.1f} MiB"
            yield Thing(name, partial(bucket.delete_blobs, blobs))
    if ours:
        yield Thing(f"bucket gs://{bucket.name}", bucket.delete)


def _prefixes(bucket: storage.Bucket, jobs: Iterable[Job]) -> Iterator[str]:
    """Where in the bucket the jobs' results lie, and the code that the SDK uploaded for them."""
    for job in jobs:
        asked = looking.asked(job)
        for address in (f"{asked.base}/", *asked.packages):
            where, name = split(address)
            if where == bucket.name and name:
                yield name


def _job(job: Job) -> Thing:
    return Thing(f"job {job.display_name} ({looking.state(job)})", partial(_delete, job))


def _delete(job: Job) -> None:
    """Delete a job, and then the custom jobs behind it, which cannot go first."""
    machines = list(looking.all_behind(job))
    job.delete()
    for each in machines:
        each.delete()


def _labelled(session: Session) -> Iterator[Thing]:
    """The models, with all their versions, and the Tensorboards with the lesson's label."""
    from google.cloud import aiplatform

    kinds: tuple[Any, ...] = (aiplatform.Model, aiplatform.Tensorboard)
    for kind in kinds:
        for each in kind.list(filter=f"labels.{MARK}={session.labels[MARK]}"):
            yield Thing(f"{kind.__name__} {each.display_name}", each.delete)


@contextmanager
def _quiet_sdk() -> Iterator[None]:
    """Without the SDK's five lines about each thing that it deletes."""
    logging.disable(logging.INFO)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
