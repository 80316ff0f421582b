"""Training jobs: what the service knows of them, and how the engine runs one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.sagemaker.algorithms import xgboost_launch
from local_cloud.amazon.sagemaker.experiments.metrics import summary
from local_cloud.amazon.sagemaker.instances import layout
from local_cloud.amazon.sagemaker.instances.types import device
from local_cloud.amazon.sagemaker.jobs import (
    failure_reason,
    launch,
    metrics,
    outputs,
    status,
    tracked_jobs,
)
from local_cloud.amazon.sagemaker.lineage.jobs import MODEL, JobLineage
from local_cloud.amazon.sagemaker.resources import billing, listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import check, invalid, limit
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.engine.logs import job_files, log_timestamps
from local_cloud.engine.spec import EngineError, Job, JobContext, Outcome, Plan, State
from local_cloud.json_types import Json
from local_cloud.platform import Platform
from local_cloud.store import clock, readable

DIALECT = "sagemaker"  # the engine's name for this
KIND = "training-job"  # the request, as it came
TUNING = "tuning-job"  # the request for a tuning job, as it came
AUTOPILOT = "automl-job"  # the request for an Autopilot job
MOMENTS = "training-job-moments"  # when its steps began, and what came out of it


class Training:
    """What the service knows of its jobs; the engine asks it how to run one (engine.dialect).

    A document holds the request; states, times and errors are the engine's.
    """

    def __init__(self, platform: Platform, tags: Tags, lineage: JobLineage) -> None:
        """tags: those of all of SageMaker's resources; lineage: what is tracked of jobs."""
        self.records = platform.records
        self.objects = platform.s3
        self.engine = platform.engine
        self.environment = platform.environment
        self.tags, self.lineage = tags, lineage
        lineage.components.follow("training-job", self.track)

    # ---- requests -------------------------------------------------------------------------------
    def create(self, request: Json) -> Json:
        """CreateTrainingJob: check, record and queue it."""
        request = {name: value for name, value in request.items() if value is not None}
        name = request["TrainingJobName"]
        check(request, self.objects)
        xgboost_launch.add_metrics(request, request.get("HyperParameters") or {})
        if self.records.get(KIND, name):
            raise ServiceError(
                "ResourceInUse",
                "Training job names must be unique within an AWS account and region, and a"
                f" training job with this name already exists ({_arn(name)})",
            )
        self.queue(request, request.pop("Tags", []))
        return {"TrainingJobArn": _arn(name)}

    def queue(
        self, request: Json, tags: Sequence[Json], tuning: str = "", *, autopilot: str = ""
    ) -> None:
        """Record and queue a job whose request has been checked.

        tuning, autopilot: the ARN of the job that it works for.
        """
        name, resources = request["TrainingJobName"], request["ResourceConfig"]
        wanted = device(resources, self.engine.gpus)
        document = {"request": request, "note": wanted.missing, "tuning": tuning}
        document |= {"autopilot": autopilot} if autopilot else {}
        with self.records.transaction():
            self.records.put(KIND, name, document)
            self.tags.create(_arn(name), list(tags))
            self.lineage.begin(tracked_jobs.job(_arn(name), request))
            try:
                machines = billing.of_job(request, tuning, autopilot)
                count = resources["InstanceCount"]
                self.engine.submit(DIALECT, name, count, gpus=wanted.gpus, rented=machines)
            except EngineError as problem:
                raise invalid(str(problem)) from problem

    def describe(self, params: Json) -> Json:
        """DescribeTrainingJob: what was asked for, and where it stands."""
        name = params["TrainingJobName"]
        document = self._document(name)
        request = document["request"]
        moments = self.records.get(MOMENTS, name) or {}
        job = self.engine.get(name)
        answer: Json = request | {
            "TrainingJobArn": _arn(name),
            # The service names no key so, and version 2 of the SDK relies on it.
            "OutputDataConfig": {"KmsKeyId": ""} | request["OutputDataConfig"],
            "StoppingCondition": (request.get("StoppingCondition") or {})
            | {"MaxRuntimeInSeconds": limit(request)},
            **status.progress(job, moments),
        }
        if tuning := document.get("tuning"):
            answer["TuningJobArn"] = tuning
        if autopilot := document.get("autopilot"):
            answer["AutoMLJobArn"] = autopilot
        if "uploading" in moments and job.ended:
            answer["ModelArtifacts"] = {"S3ModelArtifacts": outputs.model(request)}
            if moments["metrics"]:
                answer["FinalMetricDataList"] = moments["metrics"]
        if job.outcome and status.status(job) == "Failed":
            answer["FailureReason"] = self._failure(job, job.outcome, moments)
        return answer

    def track(self, name: str) -> Json:
        """Return what a job's trial component shows of it; {} of a job that is not there."""
        if not (document := self.records.get(KIND, name)):
            return {}
        statistics = (self.records.get(MOMENTS, name) or {}).get("statistics", [])
        described = self.describe({"TrainingJobName": name})
        return tracked_jobs.facts(document["request"], described, statistics)

    def all(self) -> Iterator[Json]:
        """Yield the descriptions of all jobs."""
        yield from readable.each(
            KIND, self.records.list(KIND), lambda name, _: self.describe({"TrainingJobName": name})
        )

    def _failure(self, job: Job, outcome: Outcome, moments: Json) -> str:
        known: str = moments.get("failure", "")
        if outcome.reason in ("exit", "memory") and known:
            return known
        return failure_reason.reason(outcome, "", ())

    def list(self, params: Json) -> Json:
        """ListTrainingJobs: the newest first, unless the request says otherwise."""
        for field in ("WarmPoolStatusEquals", "TrainingPlanArnEquals"):
            if field in params:
                raise not_implemented(f"ListTrainingJobs by {field}")
        listed = listing.select(
            self._summaries(), params, name="TrainingJobName", status="TrainingJobStatus"
        )
        fields = {
            "Name": "TrainingJobName",
            "CreationTime": "CreationTime",
            "Status": "TrainingJobStatus",
        }
        listed = listing.sort(listed, params, fields, default="Descending")
        return listing.page(listed, params, "TrainingJobSummaries")

    def _summaries(self) -> Iterator[Json]:
        jobs = ((job.id, job) for job in self.engine.jobs() if job.dialect == DIALECT)
        return readable.each(MOMENTS, jobs, lambda _, job: self._summary(job))

    def _summary(self, job: Job) -> Json:
        wanted = ("CreationTime", "LastModifiedTime", "TrainingEndTime")
        standing = status.progress(job, self.records.get(MOMENTS, job.id) or {})
        return {
            "TrainingJobName": job.id,
            "TrainingJobArn": _arn(job.id),
            "TrainingJobStatus": standing["TrainingJobStatus"],
            "SecondaryStatus": standing["SecondaryStatus"],
            **{field: standing[field] for field in wanted if field in standing},
        }

    def stop(self, params: Json) -> Json:
        """StopTrainingJob: begin to stop it; one that has ended cannot be."""
        job = self._unfinished_job(params)
        if self.engine.stop(job.id).state is State.STOPPING and job.state is not State.STOPPING:
            self._note(job.id, stopping=_after(job))
        return {}

    def delete(self, params: Json) -> Json:
        """DeleteTrainingJob: forget a job that has ended; what it wrote to S3 stays."""
        job = self._job(params)
        if not job.state.ended:
            raise ServiceError(
                "ResourceInUse",
                f"The training job {job.id} is in status {status.status(job)}; stop it first.",
            )
        document = self._document(job.id)
        _, _, owner = document.get("tuning", "").rpartition("/")
        if owner and self.records.get(TUNING, owner):
            raise ServiceError(
                "ResourceInUse",
                f"The training job {job.id} belongs to a tuning job; delete that first.",
            )
        with self.records.transaction():
            self.lineage.leave(tracked_jobs.job(_arn(job.id), document["request"]).component)
            if autopilot := document.get("autopilot"):
                self._leave(autopilot.rpartition("/")[2], job)
            for kind in (KIND, MOMENTS):
                self.records.delete(kind, job.id)
            self.tags.forget(_arn(job.id))
            launch.forget(self._folder(job.id))
            self.engine.delete(job.id)
        return {}

    def _leave(self, autopilot: str, job: Job) -> None:
        """Keep what an Autopilot job, which cannot be deleted, shows of its training job."""
        left = {
            "job": job.document(),
            "training": self.describe({"TrainingJobName": job.id}),
            "report": (self.records.get(MOMENTS, job.id) or {}).get("report", {}),
        }
        kept = self.records.get(AUTOPILOT, autopilot) or {}
        self.records.put(AUTOPILOT, autopilot, kept | {"left": left})

    def update(self, params: Json) -> Json:
        """UpdateTrainingJob: what it may change is kept, and has as little effect as at first."""
        job = self._unfinished_job(params)
        changes = {field: value for field, value in params.items() if field != "TrainingJobName"}
        if "ProfilerRuleConfigurations" in changes:
            raise not_implemented("ProfilerRuleConfigurations (profiler rules)")
        document = self._document(job.id)
        for field, value in changes.items():
            document["request"][field] = (document["request"].get(field) or {}) | value
        self.records.put(KIND, job.id, document)
        return {"TrainingJobArn": _arn(job.id)}

    def _document(self, name: str) -> Json:
        document = self.records.get(KIND, name)
        if document is None:
            raise invalid("Requested resource not found.")
        return document

    def _job(self, params: Json) -> Job:
        self._document(params["TrainingJobName"])
        return self.engine.get(params["TrainingJobName"])

    def _unfinished_job(self, params: Json) -> Job:
        """Return the job, which has not ended yet."""
        job = self._job(params)
        if job.state.ended:
            raise invalid(
                "The request was rejected because the training job is in status"
                f" {status.status(job)}."
            )
        return job

    # ---- what the engine asks -------------------------------------------------------------------
    def stage(self, job_id: str, context: JobContext) -> Plan:
        """Make what the instances of this job need, when its turn has come."""
        return launch.plan(self._document(job_id), context, self.objects, base=self.environment)

    def collect(self, job: Job) -> None:
        """Read metrics and the reason of a failure, then bring the results to S3."""
        assert job.outcome
        document, folder = self._document(job.id), self._folder(job.id)
        request = document["request"]
        hosts = launch.real_hosts(folder, request["ResourceConfig"]["InstanceCount"])
        definitions = request["AlgorithmSpecification"].get("MetricDefinitions") or []
        logs = [self.engine.log(job.id, host.name) for host in hosts]
        self._note(
            job.id,
            uploading=_after(job),
            **_metrics(definitions, logs, _arn(job.id)),
            failure=self._failure_reason(job, job.outcome, hosts),
            **(
                {"report": launch.report(folder, self.engine.hidden)}
                if document.get("autopilot")
                else {}
            ),
        )
        outputs.upload(request, hosts, self.objects)
        if job.outcome.state is State.SUCCEEDED:
            component = tracked_jobs.job(_arn(job.id), request).component
            self.lineage.record_output(component, outputs.model(request), MODEL)
        launch.remove(folder, hosts)
        launch.forget(folder)

    def _folder(self, job_id: str) -> Path:
        """Return the job's own folder."""
        return self.engine.log(job_id, "any").parent

    def _failure_reason(self, job: Job, outcome: Outcome, hosts: Sequence[layout.Host]) -> str:
        failed = next((host for host in hosts if host.name == outcome.replica), None)
        if failed is None:
            return ""
        log, hidden = self.engine.log(job.id, failed.name), self.engine.hidden
        last = log_timestamps.lines(log, log_timestamps.tail(log, failure_reason.WINDOW))
        said = failure_reason.read(
            self._folder(job.id), failed.name, "output/failure", hidden=hidden
        )
        return failure_reason.reason(outcome, said, (line.text for line in last), hidden=hidden)

    def _note(self, job_id: str, **facts: Any) -> None:
        """Keep what has come to be known of a job that runs."""
        with self.records.transaction():
            self.records.put(MOMENTS, job_id, (self.records.get(MOMENTS, job_id) or {}) | facts)


def _metrics(definitions: Sequence[Json], logs: Sequence[Path], source: str) -> Json:
    """Return the metrics in those logs that are there: the last values, and the statistics.

    If they were given up, the first log says so. source: the job's ARN.
    """
    written = [log for log in logs if job_files.stat_log(log)]
    measured: Json = {"metrics": [], "statistics": []}
    if not definitions or not written:
        return measured
    try:
        measured["metrics"] = metrics.final(definitions, written, metrics.SECONDS)
        points = metrics.points(definitions, written, metrics.SECONDS)
    except metrics.TooSlow as problem:
        note = f"{failure_reason.OURS}MetricDefinitions: {problem}; no metric was read"
        job_files.append_line(written[0], note)
        log_timestamps.mark(written[0])
        return measured
    measured["statistics"] = [summary(name, sorted(own), source) for name, own in points.items()]
    return measured


def _after(job: Job) -> float:
    """Return the time, which is after all that has happened to a job's attempts."""
    return clock.now_after(job.created, *(attempt.latest for attempt in job.attempts))


def _arn(name: str) -> str:
    return arn(f"training-job/{name}")
