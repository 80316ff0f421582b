"""Delete what the lesson made, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from AWS_helpers import looking
from AWS_helpers.session import MARK, Session, boto, client, connected, refusals
from AWS_helpers.storage import split
from lesson import cleaning
from lesson.cleaning import Thing
from lesson.states import ENDED

if TYPE_CHECKING:
    from AWS_helpers.looking import Job


def cleanup(dry_run: bool = True) -> None:
    """List what the lesson made in this account and bucket; with dry_run=False delete it.

    That is the bucket, if connect() made it, with all that is in it and every job that wrote
    there. Of a bucket that was there before, it is the jobs of train() and tune() and what they
    wrote. And every group of model packages with the tag that connect() told (`connect().tags`),
    and its versions. Raises LessonError, and deletes nothing, while one of these jobs runs.
    """
    session = connected()
    with refusals("cleaning up"):
        tags = _tags(session.bucket)
        ours = tags is not None and tags.get(MARK) == "true"
        jobs = [job for job in looking.every() if _made_by_lesson(job, session, ours)]
        cleaning.refuse([looking.name_of(job) for job in jobs if looking.state(job) not in ENDED])
        objects = [] if tags is None else _objects(session, jobs, ours)
        things = [*objects, *map(_job, jobs), *_groups(session)]
        cleaning.delete(things, dry_run)
    if tags is not None and not ours:
        print(f"{session.address} was there before connect(): it stays, and so do your uploads")
    cleaning.say_what_is_left(things, dry_run)


def _tags(bucket: str) -> dict[str, str] | None:
    """The bucket's tags; None if there is no such bucket."""
    from botocore.exceptions import ClientError

    try:
        answer = client("s3").get_bucket_tagging(Bucket=bucket)
    except ClientError as refusal:
        code = refusal.response["Error"]["Code"]
        if code not in ("NoSuchTagSet", "NoSuchBucket"):
            raise
        return {} if code == "NoSuchTagSet" else None
    return {tag["Key"]: tag["Value"] for tag in answer["TagSet"]}


def _made_by_lesson(job: Job, session: Session, bucket_is_ours: bool) -> bool:
    """Whether it wrote into our bucket, or was sent by a verb, which only its tags tell."""
    if split(looking.asked(job).base)[0] != session.bucket:
        return False
    return bucket_is_ours or _tags_of(looking.arn_of(job)).get(MARK) == session.bucket


def _tags_of(arn: str) -> dict[str, str]:
    answer = client("sagemaker").list_tags(ResourceArn=arn)
    return {tag["Key"]: tag["Value"] for tag in answer["Tags"]}


def _objects(session: Session, jobs: Iterable[Job], ours: bool) -> Iterator[Thing]:
    """The objects, and after them the bucket if it is ours."""
    bucket = boto().resource("s3").Bucket(session.bucket)
    for prefix in [""] if ours else _prefixes(jobs):
        found = bucket.objects.filter(Prefix=prefix)
        sizes: list[Any] = [each.size for each in found]
        if sizes:
            name = f"{len(sizes)} objects in {session.address}/{prefix}"
            yield Thing(f"{name}, {sum(sizes) / 2**20:.1f} MiB", found.delete)
    if ours:
        yield Thing(f"bucket {session.address}", bucket.delete)


def _prefixes(jobs: Iterable[Job]) -> Iterator[str]:
    """Where in the bucket the jobs' results lie, their checkpoints, and their code."""
    for job in jobs:
        asked = looking.asked(job)
        own = "" if looking.is_tuning(job) else f"{asked.name}/"  # it has a base of its own
        yield f"{split(asked.base)[1]}/{own}".lstrip("/")
        if asked.checkpoints:
            yield f"{split(asked.checkpoints)[1]}/"


def _job(job: Job) -> Thing:
    return Thing(f"job {looking.name_of(job)} ({looking.state(job)})", partial(_delete, job))


def _delete(job: Job) -> None:
    """Delete a job, and with a tuning job the training jobs that its trials were."""
    trials = looking.trials_of(job) if looking.is_tuning(job) else []
    job.delete()
    for trial in trials:
        client("sagemaker").delete_training_job(TrainingJobName=trial["TrainingJobName"])


def _groups(session: Session) -> Iterator[Thing]:
    """The groups of model packages with the lesson's tag."""
    pages = client("sagemaker").get_paginator("list_model_package_groups").paginate()
    for group in (each for page in pages for each in page["ModelPackageGroupSummaryList"]):
        if _tags_of(group["ModelPackageGroupArn"]).get(MARK) == session.bucket:
            name = group["ModelPackageGroupName"]
            yield Thing(f"model package group {name}", partial(_delete_group, name))


def _delete_group(name: str) -> None:
    """Delete the versions of a group, and the group, which cannot go first."""
    sagemaker = client("sagemaker")
    pages = sagemaker.get_paginator("list_model_packages").paginate(ModelPackageGroupName=name)
    for version in [each for page in pages for each in page["ModelPackageSummaryList"]]:
        sagemaker.delete_model_package(ModelPackageName=version["ModelPackageArn"])
    sagemaker.delete_model_package_group(ModelPackageGroupName=name)
