"""Processing jobs: what the service knows of them, and how the engine runs one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.sagemaker.instances.layout import Host
from local_cloud.amazon.sagemaker.instances.types import device
from local_cloud.amazon.sagemaker.jobs import failure_reason, launch, status
from local_cloud.amazon.sagemaker.lineage.jobs import JobLineage
from local_cloud.amazon.sagemaker.processing import launch as processing_launch
from local_cloud.amazon.sagemaker.processing import tracked_jobs
from local_cloud.amazon.sagemaker.processing.request import check
from local_cloud.amazon.sagemaker.resources import billing, listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import invalid, limit
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.engine.logs import log_timestamps
from local_cloud.engine.spec import EngineError, Job, JobContext, Plan, State
from local_cloud.json_types import Json
from local_cloud.platform import Platform
from local_cloud.store import readable

DIALECT = "sagemaker-processing"  # the engine's name for this
KIND, NAME = "processing-job", "ProcessingJobName"
ENDING = "processing-job-ending"  # what was read when a job had ended: message, failure
PREFIX = "processing."  # of the engine's names: training jobs may have the same names
SUMMARY = (
    NAME,
    "ProcessingJobArn",
    "CreationTime",
    "ProcessingEndTime",
    "LastModifiedTime",
    "ProcessingJobStatus",
    "FailureReason",
    "ExitMessage",
)


class Processing:
    """Processing jobs by name; the engine asks it how to run one (engine.dialect).

    A document holds the request; states, times and errors are the engine's.
    """

    def __init__(self, platform: Platform, tags: Tags, lineage: JobLineage) -> None:
        """tags: those of all of SageMaker's resources; lineage: what is tracked of jobs."""
        self.records = platform.records
        self.objects = platform.s3
        self.engine = platform.engine
        self.environment = platform.environment
        self.tags, self.lineage = tags, lineage
        lineage.components.follow(KIND, self.track)

    # ---- requests -------------------------------------------------------------------------------
    def create(self, request: Json) -> Json:
        """CreateProcessingJob: check, record and queue it."""
        name = request[NAME]
        check(request, self.objects)
        if self.records.get(KIND, name):
            raise ServiceError(
                "ResourceInUse",
                "Job name must be unique within an AWS account and region, and a job with this"
                f" name already exists ({_arn(name)})",
            )
        self.queue(request, request.pop("Tags", []))
        return {"ProcessingJobArn": _arn(name)}

    def queue(self, request: Json, tags: Sequence[Json]) -> None:
        """Record and queue a job whose request has been checked."""
        name, cluster = request[NAME], request["ProcessingResources"]["ClusterConfig"]
        wanted = device(cluster, self.engine.gpus)
        with self.records.transaction():
            self.records.put(KIND, name, {"request": request, "note": wanted.missing})
            self.tags.create(_arn(name), list(tags))
            self.lineage.begin(tracked_jobs.job(_arn(name), request))
            try:
                count, machines = cluster["InstanceCount"], billing.of_processing(request)
                self.engine.submit(DIALECT, PREFIX + name, count, gpus=wanted.gpus, rented=machines)
            except EngineError as problem:
                raise invalid(str(problem)) from problem

    def describe(self, params: Json) -> Json:
        """DescribeProcessingJob: what was asked for, and where it stands."""
        name = params[NAME]
        request: Json = self._document(name)["request"]
        limits = {"StoppingCondition": {"MaxRuntimeInSeconds": limit(request)}}
        return request | limits | self._common_fields(name)

    def track(self, name: str) -> Json:
        """Return what a job's trial component shows of it; {} of a job that is not there."""
        known = self.records.get(KIND, name)
        return tracked_jobs.facts(known["request"], self._common_fields(name)) if known else {}

    def list(self, params: Json) -> Json:
        """ListProcessingJobs: the newest first, unless the request says otherwise."""
        listed = listing.select(self._summaries(), params, name=NAME, status="ProcessingJobStatus")
        fields = {"Name": NAME, "CreationTime": "CreationTime", "Status": "ProcessingJobStatus"}
        listed = listing.sort(listed, params, fields, default="Descending")
        short = [{field: job[field] for field in SUMMARY if field in job} for job in listed]
        return listing.page(short, params, "ProcessingJobSummaries")

    def _summaries(self) -> Iterator[Json]:
        jobs = (
            (job.id.removeprefix(PREFIX), job)
            for job in self.engine.jobs()
            if job.dialect == DIALECT
        )
        return readable.each(KIND, jobs, lambda name, _: {NAME: name} | self._common_fields(name))

    def stop(self, params: Json) -> Json:
        """StopProcessingJob: begin to stop it; one that has ended cannot be."""
        name = params[NAME]
        self._document(name)
        job = self.job(name)
        if job.state.ended:
            raise invalid(
                "The request was rejected because the processing job is in status"
                f" {status.status(job)}."
            )
        self.engine.stop(job.id)
        return {}

    def job(self, name: str) -> Job:
        """Return the engine's job of this name."""
        return self.engine.get(PREFIX + name)

    def _document(self, name: str) -> Json:
        document = self.records.get(KIND, name)
        if document is None:
            raise invalid(f"Could not find requested job with name: {name}")
        return document

    def _common_fields(self, name: str) -> Json:
        """Return what describing and listing have in common: status, times, why it ended."""
        job, ending = self.job(name), self.records.get(ENDING, name) or {}
        fields: Json = {
            "ProcessingJobArn": _arn(name),
            "ProcessingJobStatus": status.status(job),
            "CreationTime": job.created,
            "LastModifiedTime": job.ended or job.started or job.created,
        }
        if job.started:
            fields["ProcessingStartTime"] = job.started
        if job.ended:
            fields["ProcessingEndTime"] = job.ended
        if job.ended and ending.get("message"):
            fields["ExitMessage"] = ending["message"]
        if job.outcome and status.status(job) == "Failed":
            known = ending.get("failure") if job.outcome.reason == "exit" else ""
            fields["FailureReason"] = known or failure_reason.reason(job.outcome, "", ())
        return fields

    # ---- what the engine asks -------------------------------------------------------------------
    def stage(self, job_id: str, context: JobContext) -> Plan:
        """Make what the instances of this job need, when its turn has come."""
        document = self._document(job_id.removeprefix(PREFIX))
        return processing_launch.plan(document, context, self.objects, base=self.environment)

    def collect(self, job: Job) -> None:
        """Read why it ended, then bring the outputs of a job that succeeded to S3."""
        assert job.outcome
        name = job.id.removeprefix(PREFIX)
        request = self._document(name)["request"]
        folder = self._folder(job.id)
        cluster = request["ProcessingResources"]["ClusterConfig"]
        hosts = launch.real_hosts(folder, cluster["InstanceCount"])
        message = self._message(folder, hosts)
        self.records.put(ENDING, name, {"message": message, "failure": self._failure(job, hosts)})
        try:
            if job.outcome.state is State.SUCCEEDED:
                processing_launch.upload(request, hosts, self.objects)
        finally:
            launch.remove(folder, hosts)
            launch.forget(folder)

    def _folder(self, job_id: str) -> Path:
        """Return the job's own folder."""
        return self.engine.log(job_id, "any").parent

    def _failure(self, job: Job, hosts: Sequence[Host]) -> str:
        """Return why the job's script failed, by the log of the instance that did."""
        outcome = job.outcome
        if not outcome or outcome.replica not in [host.name for host in hosts]:
            return ""
        log = self.engine.log(job.id, outcome.replica)
        last = log_timestamps.lines(log, log_timestamps.tail(log, failure_reason.WINDOW))
        texts = (line.text for line in last)
        return failure_reason.reason(outcome, "", texts, hidden=self.engine.hidden)

    def _message(self, folder: Path, hosts: Sequence[Host]) -> str:
        """Return the first of the instances' messages."""
        place, hidden = processing_launch.MESSAGE, self.engine.hidden
        told = (failure_reason.read(folder, host.name, place, hidden=hidden) for host in hosts)
        return next((text for text in told if text), "")


def _arn(name: str) -> str:
    return arn(f"{KIND}/{name}")
