"""Autopilot jobs: one training job that fits many models to a table and keeps the best.

The training job can be described under its own name, which the steps of each candidate have; what
it runs is program.py.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence

from local_cloud import extras
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.sagemaker.autopilot import request as autopilot_request
from local_cloud.amazon.sagemaker.autopilot import status as autopilot_status
from local_cloud.amazon.sagemaker.autopilot.request import ALGORITHMS, criteria, tabular
from local_cloud.amazon.sagemaker.jobs import launch
from local_cloud.amazon.sagemaker.jobs.training import AUTOPILOT, MOMENTS, Training
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import DAY, invalid
from local_cloud.engine.spec import Job
from local_cloud.json_types import Json
from local_cloud.store import readable

NAME = "AutoMLJobName"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/autogluon-training:1.5.0-cpu-py311"
MACHINE = "ml.m5.4xlarge"  # which the service takes for tables of up to 100 MB
LATE = 600  # seconds beyond MaxAutoMLJobRuntimeInSeconds, in which the program ends by itself


class Autopilot:
    """Autopilot jobs by name; a document has the request and the name of the training job."""

    def __init__(self, training: Training) -> None:
        """training: where the training jobs are sent."""
        self.training = training
        self.records, self.objects = training.records, training.objects

    def create(self, params: Json) -> Json:
        """CreateAutoMLJob."""
        params = {name: value for name, value in params.items() if value is not None}
        return self._create(autopilot_request.of_version_1(params), params.get("Tags", []))

    def create_v2(self, params: Json) -> Json:
        """CreateAutoMLJobV2."""
        params = {name: value for name, value in params.items() if value is not None}
        return self._create(params, params.pop("Tags", []))

    def describe(self, params: Json) -> Json:
        """DescribeAutoMLJob, of a job that either version has made."""
        document = self._get(params[NAME])
        return autopilot_request.as_version_1(document["request"]) | self._details(document, 1)

    def describe_v2(self, params: Json) -> Json:
        """DescribeAutoMLJobV2."""
        document = self._get(params[NAME])
        standing = self._details(document, 2)
        return {**document["request"], "AutoMLProblemTypeConfigName": "Tabular", **standing}

    def list(self, params: Json) -> Json:
        """ListAutoMLJobs: by name, unless the request says otherwise."""
        word = "AutoMLJobStatus"
        recorded = self.records.list(AUTOPILOT)
        every = readable.each(AUTOPILOT, recorded, lambda _, document: self._summary(document))
        listed = listing.select(every, params, name=NAME, status=word)
        fields = {"Name": NAME, "CreationTime": "CreationTime", "Status": word}
        listed = listing.sort(listed, {"SortBy": "Name"} | params, fields, default="Descending")
        return listing.page(listed, params, "AutoMLJobSummaries")

    def stop(self, params: Json) -> Json:
        """StopAutoMLJob: the candidates that are complete stay."""
        document = self._get(params[NAME])
        job, _, _ = self._facts(document)
        if job.state.ended:
            raise invalid(
                "The request was rejected because the AutoML job is in status"
                f" {autopilot_status.status(job)}."
            )
        self.training.stop({"TrainingJobName": document["job"]})
        return {}

    def candidates(self, params: Json) -> Json:
        """ListCandidatesForAutoMLJob: in the order of their start, unless the request has one."""
        _, training, report = self._facts(self._get(params[NAME]))
        listed = autopilot_status.candidates(training, report)
        if name := params.get("CandidateNameEquals"):
            listed = [one for one in listed if one["CandidateName"] == name]
        if wanted := params.get("StatusEquals"):
            listed = [one for one in listed if one["CandidateStatus"] == wanted]
        if params.get("SortBy") == "FinalObjectiveMetricValue":  # those without are not listed
            listed = [one for one in listed if autopilot_status.OBJECTIVE in one]
        fields = {
            "CreationTime": lambda one: one["CreationTime"],
            "Status": lambda one: one["CandidateStatus"],
            "FinalObjectiveMetricValue": lambda one: one[autopilot_status.OBJECTIVE]["Value"],
        }
        down = params.get("SortOrder") == "Descending"
        listed.sort(key=fields[params.get("SortBy", "CreationTime")], reverse=down)
        return listing.page(listed, params, "Candidates")

    # ---- inside ---------------------------------------------------------------------------------
    def _create(self, request: Json, tags: Sequence[Json]) -> Json:
        if why := extras.explain_missing("automl"):
            raise not_implemented(f"Autopilot {why}")
        name = request[NAME]
        autopilot_request.check(request, self.objects)
        if self.records.get(AUTOPILOT, name):
            raise ServiceError(
                "ResourceInUse",
                "AutoML Job names must be unique within an AWS account and region, and an AutoML"
                f" job with this name already exists ({_arn(name)})",
            )
        job = f"{name}-t1-1-{secrets.token_hex(4)}"
        with self.records.transaction():
            self.records.put(AUTOPILOT, name, {"request": request, "job": job})
            self.training.tags.create(_arn(name), [*tags])
            self.training.queue(_training_request(job, request), [], autopilot=_arn(name))
        return {"AutoMLJobArn": _arn(name)}

    def _details(self, document: Json, version: int) -> Json:
        """Return what describing adds to the request."""
        job, training, report = self._facts(document)
        details = self._summary(document)
        details |= autopilot_status.resolve_attributes(document["request"], report, version)
        best = autopilot_status.best(autopilot_status.candidates(training, report), report)
        return details | ({"BestCandidate": best} if best and job.state.ended else {})

    def _summary(self, document: Json) -> Json:
        """Return what describing and listing have in common."""
        job, training, report = self._facts(document)
        name = document["request"][NAME]
        summary = {NAME: name, "AutoMLJobArn": _arn(name)} | autopilot_status.progress(job, report)
        if summary["AutoMLJobStatus"] == "Failed":
            summary["FailureReason"] = autopilot_status.failure_reason(training["FailureReason"])
        return summary

    def _facts(self, document: Json) -> tuple[Job, Json, Json]:
        """Return the engine's job, the training job's description, and the program's report."""
        if left := document.get("left"):  # the training job was deleted
            return Job.of(left["job"]), left["training"], left["report"]
        name = document["job"]
        moments = self.records.get(MOMENTS, name) or {}
        report = moments.get("report")
        if report is None:
            engine = self.training.engine
            report = launch.report(engine.log(name, "any").parent, engine.hidden)
        training = self.training.describe({"TrainingJobName": name})
        return self.training.engine.get(name), training, report

    def _get(self, name: str) -> Json:
        document = self.records.get(AUTOPILOT, name)
        if document is None:
            raise ServiceError("ResourceNotFound", f"Could not find the AutoML job {name}")
        return document


def _training_request(name: str, request: Json) -> Json:
    """Return the request for the training job; the program reads its hyperparameters."""
    limits, job, table = criteria(request), request[NAME], tabular(request)
    objective = (request.get("AutoMLJobObjective") or {}).get("MetricName")
    said = {
        "target": table["TargetAttributeName"],
        "problem": table.get("ProblemType"),
        "objective": objective,
        "algorithms": [ALGORITHMS[one] for one in autopilot_request.algorithms(request)],
        "max_candidates": limits.get("MaxCandidates"),
        "candidate_seconds": limits.get("MaxRuntimePerTrainingJobInSeconds"),
        "seconds": limits.get("MaxAutoMLJobRuntimeInSeconds"),
    }
    output = request["OutputDataConfig"]["S3OutputPath"].rstrip("/")
    seconds = limits.get("MaxAutoMLJobRuntimeInSeconds") or DAY
    return {
        "TrainingJobName": name,
        "RoleArn": request["RoleArn"],
        "AlgorithmSpecification": {"TrainingImage": IMAGE, "TrainingInputMode": "File"},
        # On small tables several threads wait for each other more than they gain.
        "Environment": {"OMP_NUM_THREADS": "1"},
        "HyperParameters": {key: json.dumps(value) for key, value in said.items() if value},
        "InputDataConfig": [
            {
                "ChannelName": channel.get("ChannelType", "training"),
                "DataSource": {"S3DataSource": channel["DataSource"]["S3DataSource"]},
            }
            for channel in request["AutoMLJobInputDataConfig"]
        ],
        # Each candidate has an archive of its own.
        "OutputDataConfig": {"S3OutputPath": f"{output}/{job}", "CompressionType": "NONE"},
        "ResourceConfig": {"InstanceType": MACHINE, "InstanceCount": 1, "VolumeSizeInGB": 50},
        "StoppingCondition": {"MaxRuntimeInSeconds": seconds + LATE},
    }


def _arn(name: str) -> str:
    return arn(f"automl-job/{name}")
