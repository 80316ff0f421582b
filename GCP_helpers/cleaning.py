"""Delete what the lesson made, and nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from GCP_helpers import describe, serving
from GCP_helpers.describe import VertexAI
from GCP_helpers.session import Session, refusals
from lesson.services import cleaning
from lesson.services.cleaning import Bucket, Thing
from lesson.services.sessions import MARK

if TYPE_CHECKING:
    from google.cloud import aiplatform

    from GCP_helpers.describe import Job


def cleanup(dry_run: bool = True) -> None:
    """List what the lesson made in this project and bucket; with dry_run=False delete it.

    That is the bucket, if connect() made it, with all that is in it and every job that wrote
    there. Of a bucket that was there before, it is the jobs of train() and tune() and what they
    wrote. Raises LessonError, and deletes nothing, while one of these jobs runs.
    """
    cloud = describe.cloud()
    with refusals("cleaning up"), _quiet_sdk():
        bucket = _bucket(cloud.session)
        jobs, others = [*_jobs(cloud, bucket)], _find_labelled(cloud.session)
        cleaning.cleanup(bucket, jobs, others, dry_run=dry_run)


def _jobs(cloud: VertexAI, bucket: Bucket) -> Iterator[cleaning.Job]:
    """Yield the lesson's jobs: those that write into the bucket, if connect() made it or a verb
    sent the job, which its label tells.
    """
    for job in cloud.every():
        spec = cloud.spec(job)
        if bucket.holds(spec.base) and (bucket.ours or _is_labelled(job, cloud.session)):
            yield cleaning.Job(spec, cloud.status(job).state, partial(_delete_job, cloud, job))


def _bucket(session: Session) -> Bucket:
    bucket_there = session.storage.lookup_bucket(session.bucket)
    ours = bucket_there is not None and bucket_there.labels.get(MARK) == "true"
    bucket = session.storage.bucket(session.bucket)
    objects = partial(_objects, session)
    return Bucket(session.uri, bucket_there is not None, ours, objects, bucket.delete)


def _objects(session: Session, prefix: str) -> Thing | None:
    """Return the objects with a prefix as one thing."""
    bucket = session.storage.bucket(session.bucket)
    blobs = list(session.storage.list_blobs(bucket, prefix=prefix))
    size = sum(blob.size for blob in blobs) / 2**20
    name = f"{len(blobs)} objects in {session.uri}/{prefix}, {size:.1f} MiB"
    return Thing(name, partial(bucket.delete_blobs, blobs)) if blobs else None


def _is_labelled(job: Job, session: Session) -> bool:
    return bool(job.labels.get(MARK) == session.labels[MARK])


def _delete_job(cloud: VertexAI, job: Job) -> None:
    """Delete a job, and then the custom jobs behind it, which cannot go first."""
    machines = list(cloud.backing_jobs(job))
    job.delete()
    for each in machines:
        each.delete()


def _find_labelled(session: Session) -> Iterator[Thing]:
    """Yield the endpoints, the models, the Tensorboards and the pipelines with the lesson's label.

    Endpoints first: a model that is deployed cannot be deleted.
    """
    from google.cloud import aiplatform

    label = f"labels.{MARK}={session.labels[MARK]}"
    for endpoint in aiplatform.Endpoint.list(filter=label):
        name = f"Endpoint {endpoint.display_name} ({serving.costs_of(endpoint, session.region)})"
        yield Thing(name, partial(endpoint.delete, force=True))
    kinds: tuple[Any, ...] = (aiplatform.Model, aiplatform.Tensorboard)
    for kind in kinds:
        for each in kind.list(filter=label):
            yield Thing(f"{kind.__name__} {each.display_name}", each.delete)
    for job in aiplatform.PipelineJob.list(filter=label):
        yield Thing(f"PipelineJob {job.display_name}", partial(_delete_pipeline, job))


def _delete_pipeline(job: aiplatform.PipelineJob) -> None:
    """Delete a pipeline job, and then the custom jobs that were its tasks."""
    from google.cloud import aiplatform

    details = [task.executor_detail.container_detail for task in job.task_details]
    job.delete()
    for name in (one for each in details for one in (*each.failed_main_jobs, each.main_job) if one):
        aiplatform.CustomJob.get(name).delete()


@contextmanager
def _quiet_sdk() -> Iterator[None]:
    """Silence the SDK's five lines about each thing that it deletes."""
    logging.disable(logging.INFO)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
