"""The jobs of both clouds, as pages show them: from the engine, and from what is on record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from local_cloud.console.records import job_metrics
from local_cloud.console.site import words
from local_cloud.engine.logs import job_files
from local_cloud.engine.spec import Job, NoSuchJob, State
from local_cloud.json_types import Json
from local_cloud.platform import Platform
from local_cloud.store import clock, readable
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects
from local_cloud.store.values import Object

VERTEX, SAGEMAKER = "vertex", "sagemaker"


@dataclass(frozen=True)
class Kind:
    """A kind of SageMaker's jobs: its records, and the words of its operations."""

    records: str
    noun: str
    prefix: str = ""  # of the engine's names


AMAZON = {
    SAGEMAKER: Kind("training-job", "TrainingJob"),
    "sagemaker-processing": Kind("processing-job", "ProcessingJob", "processing."),
}


@dataclass(frozen=True)
class Shown:
    """A job with what its cloud has on record about it."""

    job: Job
    title: str  # what its sender called it
    resource: str  # its name for the service's API
    request: Json  # as it was sent
    note: str = ""  # what is other here than in the cloud
    study: str = ""  # whose trial it is
    pipeline: str = ""  # a training pipeline of Vertex AI's that it belongs to

    @property
    def seconds(self) -> float | None:
        """Return how long it has run so far; None before it does."""
        job = self.job
        return (job.ended or clock.now_after(job.started)) - job.started if job.started else None

    @property
    def message(self) -> str:
        """Return why it has failed, or ended as it did."""
        outcome = self.job.outcome
        return outcome.message if outcome and self.job.state is not State.SUCCEEDED else ""


def every(platform: Platform) -> Iterator[Job]:
    """Return all jobs, the newest first."""
    return reversed(list(platform.engine.jobs()))


def describe(platform: Platform, job: Job) -> Shown:
    """Return a job with what is on record about it.

    A record that is gone, or cannot be understood, leaves its place empty.
    """
    make = _of_sagemaker if job.dialect.startswith(SAGEMAKER) else _of_vertex
    try:
        return make(platform, job)
    except readable.NOT_UNDERSTOOD as problem:
        readable.note("job", job.id, repr(problem))
        return Shown(job, job.id, "", {})


def _of_vertex(platform: Platform, job: Job) -> Shown:
    records = platform.records
    name = (records.get("vertex-job", job.id) or {}).get("name", "")
    document = records.get("vertex", name) or {}
    # A training pipeline without a custom job is the job itself.
    resource = document.get("resource", document)
    return Shown(
        job,
        resource.get("displayName") or job.id,
        name,
        resource.get("jobSpec") or resource.get("trainingTaskInputs") or {},
        document.get("note") or "",
        document.get("tuning") or "",
        document.get("pipeline") or "",
    )


def _of_sagemaker(platform: Platform, job: Job) -> Shown:
    kind = AMAZON.get(job.dialect, AMAZON[SAGEMAKER])
    name = job.id.removeprefix(kind.prefix)
    document = platform.records.get(kind.records, name) or {}
    study = words.short(document.get("tuning") or "")
    request = document.get("request", {})
    return Shown(job, name, name, request, document.get("note") or "", study)


def find(platform: Platform, job_id: str) -> Shown | None:
    """Return the job of this id; None if there is none."""
    try:
        return describe(platform, platform.engine.get(job_id))
    except NoSuchJob:
        return None


def output_folder(shown: Shown) -> tuple[str, str]:
    """Return bucket and prefix of what a job writes; ("", "") if its request names none."""
    if shown.job.dialect.startswith(SAGEMAKER):
        uri = shown.request.get("OutputDataConfig", {}).get("S3OutputPath", "")
        uri = uri and f"{uri.rstrip('/')}/{shown.job.id}/output/"
    else:
        uri = shown.request.get("baseOutputDirectory", {}).get("outputUriPrefix", "")
        uri = uri and f"{uri.rstrip('/')}/"
    _, _, rest = uri.partition("://")
    bucket, _, prefix = rest.partition("/")
    return bucket, prefix


def objects_of(platform: Platform, shown: Shown) -> Objects:
    """Return the buckets of the job's cloud."""
    return platform.s3 if shown.job.dialect.startswith(SAGEMAKER) else platform.gs


_ROWS = re.compile(r"^replica (\d+) of (\d+), rows (.+)$")
_ALL = re.compile(r"^(\d{1,18}) rows, \d+ features")
_HEAD = 1 << 16  # bytes of a log in which a replica says which rows it has


def replicas(platform: Platform, shown: Shown) -> list[Json]:
    """Return each replica with its log's size, its rows, and the memory that it has used.

    The size is None of a log that cannot be read: its job has put something else in its place.
    Rows and memory are what a script says of itself (docs/history-and-metrics.md): in metrics.json
    once it is there, and the rows in its log before that.
    """
    memory = job_metrics.memory(metrics(platform, shown))
    listed: list[Json] = []
    for place, (name, log) in enumerate(platform.engine.logs(shown.job.id).items()):
        written = job_files.stat_log(log)
        size = written.st_size if written else None
        one: Json = {"name": name, "size": size, "rows": "", "memory": None}
        below = f"{log.parent.name}/{log.name}"
        head = job_files.read(log.parent.parent, below, most=_HEAD, hidden=platform.engine.hidden)
        rank = str(place)
        for line in head.splitlines():
            if said := _ROWS.match(line):
                rank, one["rows"] = said[1], said[3]
            elif (said := _ALL.match(line)) and not one["rows"]:
                one["rows"] = f"0 to {int(said[1]) - 1}"
        one["memory"] = memory.get(rank)
        listed.append(one)
    return listed


def metrics(platform: Platform, shown: Shown) -> Json:
    """Return the metrics.json that an ended job has written; {} if there is none."""
    if shown.job.state.ended and (seen := result(platform, shown, "metrics.json")):
        return job_metrics.read(seen.path, seen.name, size=seen.size, generation=seen.generation)
    return {}


def result(platform: Platform, shown: Shown, name: str) -> Object | None:
    """Return the object with this file of the job's model folder; None if there is none.

    On SageMaker it is the archive of the model, which may hold the file.
    """
    bucket, prefix = output_folder(shown)
    if not bucket:
        return None
    try:
        names = [f"{prefix}model/{name}", f"{prefix}model.tar.gz"]
        return next(objects_of(platform, shown).select(bucket, names), None)
    except StoreError:  # the bucket was deleted
        return None
