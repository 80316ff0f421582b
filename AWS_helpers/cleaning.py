"""Delete what the lesson made, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from AWS_helpers import describe, serving
from AWS_helpers.describe import SageMaker
from AWS_helpers.session import Session, refusals
from lesson.services import cleaning
from lesson.services.cleaning import Bucket, Thing
from lesson.services.sessions import MARK

if TYPE_CHECKING:
    from AWS_helpers.describe import Job


def cleanup(dry_run: bool = True) -> None:
    """List what the lesson made in this account and bucket; with dry_run=False delete it.

    That is the bucket, if connect() made it, with all that is in it and every job that wrote
    there. Of a bucket that was there before, it is the jobs of train() and tune() and what they
    wrote. And all with the tag that connect() told (`connect().tags`): endpoints, named with what
    they cost a day, their configurations, models, pipelines, and groups of model packages with
    their versions.
    Raises LessonError, and deletes nothing, while one of these jobs runs.
    """
    cloud = describe.cloud()
    session = cloud.session
    with refusals("cleaning up"):
        bucket = _bucket(session)
        others = [*_find_served(session), *_pipelines(session), *_groups(session)]
        cleaning.cleanup(bucket, [*_jobs(cloud, bucket)], others, dry_run=dry_run)


def _jobs(cloud: SageMaker, bucket: Bucket) -> Iterator[cleaning.Job]:
    """Yield the lesson's jobs: those that write into the bucket, if connect() made it or a verb
    sent the job, which its tag tells.
    """
    session = cloud.session
    for job in cloud.every():
        spec = cloud.spec(job)
        if bucket.holds(spec.base) and (bucket.ours or _is_ours(session, cloud.arn_of(job))):
            delete = partial(_delete_job, cloud, job)
            yield cleaning.Job(spec, cloud.status(job).state, delete)


def _bucket(session: Session) -> Bucket:
    tags = _tags(session)
    ours = tags is not None and tags.get(MARK) == "true"
    bucket = session.boto.resource("s3").Bucket(session.bucket)
    objects = partial(_objects, session)
    return Bucket(session.uri, tags is not None, ours, objects, bucket.delete)


def _tags(session: Session) -> dict[str, str] | None:
    """Return the bucket's tags; None if there is no such bucket."""
    from botocore.exceptions import ClientError

    try:
        answer = session.client("s3").get_bucket_tagging(Bucket=session.bucket)
    except ClientError as refusal:
        code = refusal.response["Error"]["Code"]
        if code not in ("NoSuchTagSet", "NoSuchBucket"):
            raise
        return {} if code == "NoSuchTagSet" else None
    return {tag["Key"]: tag["Value"] for tag in answer["TagSet"]}


def _is_ours(session: Session, arn: str) -> bool:
    """Tell whether something in the account has the tag of this session."""
    answer = session.client("sagemaker").list_tags(ResourceArn=arn)
    return {"Key": MARK, "Value": session.bucket} in answer["Tags"]


def _objects(session: Session, prefix: str) -> Thing | None:
    """Return the objects with a prefix as one thing."""
    objects = session.boto.resource("s3").Bucket(session.bucket).objects.filter(Prefix=prefix)
    sizes: list[Any] = [each.size for each in objects]
    name = f"{len(sizes)} objects in {session.uri}/{prefix}, {sum(sizes) / 2**20:.1f} MiB"
    return Thing(name, objects.delete) if sizes else None


def _delete_job(cloud: SageMaker, job: Job) -> None:
    """Delete a job, and with a tuning job the training jobs that its trials were."""
    trials = cloud.trials_of(job) if cloud.is_tuning(job) else []
    job.delete()
    api = cloud.session.client("sagemaker")
    for trial in trials:
        api.delete_training_job(TrainingJobName=trial["TrainingJobName"])


def _find_served(session: Session) -> Iterator[Thing]:
    """Yield what serves models and has the lesson's tag: first what costs money."""
    api = session.client("sagemaker")
    for kind in ("endpoint", "endpoint_config", "model"):
        words = kind.title().replace("_", "")
        for page in api.get_paginator(f"list_{kind}s").paginate():
            for each in page[f"{words}s"]:
                if each.get("EndpointStatus") == "Deleting" or not _is_ours(
                    session, each[f"{words}Arn"]
                ):
                    continue
                name = each[f"{words}Name"]
                cost = f" ({serving.costs_of(session, name)})" if kind == "endpoint" else ""
                delete = getattr(api, f"delete_{kind}")
                yield Thing(
                    f"{kind.replace('_config', ' configuration')} {name}{cost}",
                    partial(delete, **{f"{words}Name": name}),
                )


def _pipelines(session: Session) -> Iterator[Thing]:
    """Yield the pipelines with the lesson's tag; the jobs of their steps are listed as jobs."""
    api = session.client("sagemaker")
    for page in api.get_paginator("list_pipelines").paginate():
        for each in page["PipelineSummaries"]:
            if _is_ours(session, each["PipelineArn"]):
                name = each["PipelineName"]
                yield Thing(f"pipeline {name}", partial(api.delete_pipeline, PipelineName=name))


def _groups(session: Session) -> Iterator[Thing]:
    """Yield the groups of model packages with the lesson's tag."""
    api = session.client("sagemaker")
    pages = api.get_paginator("list_model_package_groups").paginate()
    for group in (each for page in pages for each in page["ModelPackageGroupSummaryList"]):
        if _is_ours(session, group["ModelPackageGroupArn"]):
            name = group["ModelPackageGroupName"]
            yield Thing(f"model package group {name}", partial(_delete_group, api, name))


def _delete_group(api: Any, name: str) -> None:
    """Delete the versions of a group, and the group, which cannot go first."""
    pages = api.get_paginator("list_model_packages").paginate(ModelPackageGroupName=name)
    for version in [each for page in pages for each in page["ModelPackageSummaryList"]]:
        api.delete_model_package(ModelPackageName=version["ModelPackageArn"])
    api.delete_model_package_group(ModelPackageGroupName=name)
