"""Custom jobs, and the training pipelines that run one and may yield a model."""

from __future__ import annotations

import copy
import time
from typing import Any
from urllib.parse import urlsplit

from local_cloud.engine.logs import job_files
from local_cloud.engine.spec import EngineError, Job, JobContext, Outcome, Plan, State
from local_cloud.google.projects import Projects
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.automl import inputs as automl_inputs
from local_cloud.google.vertex.automl import trainings
from local_cloud.google.vertex.automl.trainings import AutoMl
from local_cloud.google.vertex.jobs import launch, splits, status
from local_cloud.google.vertex.jobs.tracked_jobs import TrackedJobs
from local_cloud.google.vertex.models.registry import ModelRegistry
from local_cloud.google.vertex.resources import billing, documents
from local_cloud.google.vertex.resources.request import check_job_spec
from local_cloud.google.vertex.resources.schema import (
    CustomJob,
    CustomJobSpec,
    TrainingPipeline,
    new_id,
    parse_message,
    require,
    timestamp,
    with_text_args,
)
from local_cloud.json_types import Json
from local_cloud.platform import Platform

DIALECT = "vertex"  # the engine's name for this
CUSTOM_TASK = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"


class Training:
    """What the service knows of its jobs; the engine asks it how to run one (engine.dialect).

    A document holds the resource as it was asked for; states, times and errors are the engine's.
    """

    def __init__(
        self, platform: Platform, models: ModelRegistry, tracking: TrackedJobs, *, automl: AutoMl
    ) -> None:
        """models: where pipelines upload; tracking: what takes up the jobs' experiments.

        automl: what runs the pipelines that train without the user's code.
        """
        self.records = platform.records
        self.objects = platform.gs
        self.engine = platform.engine
        self.projects = Projects(platform.records)
        self.environment = platform.environment
        self.models = models
        self.tracking = tracking
        self.automl = automl

    # ---- requests -------------------------------------------------------------------------------
    def create_custom_job(self, parent: str, body: Json) -> Json:
        """Check, record and queue a custom job; returns it."""
        job = parse_message(CustomJob, body, "custom_job")
        require(job.get("displayName"), "custom_job.displayName: required")
        return self.custom_job(self._queue(parent, job))

    def send(self, parent: str, job: Json, **trial: Any) -> str:
        """Record and queue the custom job of a trial or task; returns the id of the engine's job.

        trial: its number as `trial`, and the name of its tuning job as `tuning`; or that of the
        pipeline whose task it is, as `pipelineJob`.
        """
        return _id(self._queue(parent, job, **trial)["resource"]["name"])

    def _queue(self, parent: str, job: Json, pipeline: Json | None = None, **more: Any) -> Json:
        spec = job.get("jobSpec", {})
        check_job_spec(spec)
        self.tracking.check(spec)
        now = timestamp(time.time())
        job |= {"name": f"{parent}/customJobs/{new_id()}", "createTime": now, "updateTime": now}
        document: Json = {"resource": job, **more}
        device = launch.device(spec, self.engine.gpus)
        if device.missing:
            job["labels"] = job.get("labels", {}) | {"local-cloud-device": "cpu"}
            document["note"] = device.missing
        with self.records.transaction():
            self.tracking.begin(job)
            if pipeline is not None:
                document["pipeline"] = pipeline["name"]
                pipeline |= {"createTime": now, "updateTime": now}
                self.records.put("vertex", pipeline["name"], pipeline | {"job": job["name"]})
            self.records.put("vertex", job["name"], document)
            self.records.put("vertex-job", _id(job["name"]), {"name": job["name"]})
            machines = billing.of_job(document)
            size = launch.size(spec)
            self.engine.submit(DIALECT, _id(job["name"]), size, gpus=device.gpus, rented=machines)
        return document

    def custom_job(self, document: Json) -> Json:
        """Return the resource with its state."""
        resource: Json = document["resource"]
        return resource | self._progress(document, "JOB_")

    def _progress(self, document: Json, prefix: str) -> Json:
        job = self.engine.get(_id(document["resource"]["name"]))
        return status.progress(job, prefix, self.message)

    def message(self, job: Job, outcome: Outcome) -> str:
        """Return why the job has failed, in the service's words."""
        here = urlsplit(self.environment["LOCAL_CLOUD_VERTEX_URL"]).netloc
        log = f"http://{here}/console/jobs/{job.id}?replica={outcome.replica}#log"
        return status.message(outcome, log)

    def create_training_pipeline(self, parent: str, body: Json) -> Json:
        """Check, record and queue a training pipeline; returns it."""
        pipeline = parse_message(TrainingPipeline, body, "training_pipeline")
        require(pipeline.get("displayName"), "training_pipeline.displayName: required")
        if pipeline.get("trainingTaskDefinition") in automl_inputs.BUDGETS:
            return self.training_pipeline(self.automl.create(parent, pipeline, DIALECT))
        if pipeline.get("trainingTaskDefinition") != CUSTOM_TASK:
            raise ApiError(
                "UNIMPLEMENTED",
                "not implemented in the local cloud: training pipelines other than the custom task"
                f" and {automl_inputs.KNOWN}: {pipeline.get('trainingTaskDefinition')!r}",
            )
        if "inputDataConfig" in pipeline:
            splits.check(self.automl.datasets, parent, pipeline["inputDataConfig"])
        inputs = pipeline.get("trainingTaskInputs")
        require(
            isinstance(inputs, dict), "training_pipeline.trainingTaskInputs: an object is needed"
        )
        spec = parse_message(CustomJobSpec, with_text_args(inputs), "training_task_inputs")
        pipeline["trainingTaskInputs"] = copy.deepcopy(spec)  # as the service writes them
        if "modelToUpload" in pipeline:
            self.models.check(parent, pipeline["modelToUpload"], **_place(pipeline))
        pipeline["name"] = f"{parent}/trainingPipelines/{new_id()}"
        job = {"displayName": f"{pipeline['displayName']}-custom-job", "jobSpec": spec}
        self._queue(parent, job | {"labels": pipeline.get("labels", {})}, pipeline)
        return self.training_pipeline(documents.get(self.records, pipeline["name"]))

    def training_pipeline(self, document: Json) -> Json:
        """Return the resource with the state of its backing custom job, or of its own job."""
        if "automl" in document:
            own = self.engine_job(document)
            shown = trainings.render(document, own)
            return shown | status.progress(own, "PIPELINE_", self.message)
        resource = {name: value for name, value in document.items() if name != "job"}
        job = documents.get(self.records, document["job"])
        metadata = {"backingCustomJob": document["job"]}
        metadata |= {"localCloudNote": job["note"]} if "note" in job else {}
        return resource | {"trainingTaskMetadata": metadata} | self._progress(job, "PIPELINE_")

    def engine_job(self, document: Json) -> Job:
        """Return the backing engine job of a custom job's or a pipeline's document."""
        return self.engine.get(_id(document.get("job") or document["resource"]["name"]))

    def cancel(self, document: Json) -> None:
        """Begin to stop it; nothing happens to one that has ended."""
        self.engine.stop(self.engine_job(document).id)

    def delete(self, document: Json) -> None:
        """Delete a job or pipeline that has ended."""
        name = document.get("name") or document["resource"]["name"]
        job = self.engine_job(document)
        if not job.state.ended:
            raise ApiError("FAILED_PRECONDITION", f"{name} is still running; cancel it first.")
        owner = document.get("pipeline") or document.get("tuning", "")
        if self.records.get("vertex", owner):
            raise ApiError("FAILED_PRECONDITION", f"{name} belongs to {owner}; delete that first.")
        pipeline = self.records.get("vertex-pipeline", document.get("pipelineJob", "")) or {}
        if pipeline and "endTime" not in pipeline:  # it has not looked at this job's end yet
            raise ApiError("FAILED_PRECONDITION", f"{document['pipelineJob']} is still running.")
        with self.records.transaction():
            self.records.delete("vertex", name)
            # Both or none: a document without a job spoils every list.
            if document.get("job", name) == name:
                self.records.delete("vertex-job", job.id)
                self.engine.delete(job.id)

    # ---- what the engine asks -------------------------------------------------------------------
    def stage(self, job_id: str, context: JobContext) -> Plan:
        """Make what the replicas of this job need, when its turn has come."""
        document = self._by_id(job_id)
        if "automl" in document:
            return self.automl.stage(document, context, self.environment)
        _, number, _, location, *_ = document["resource"]["name"].split("/")
        # A job's clients work in the project and in the region that it was sent to.
        project = self.projects.id_of(number)
        own = {"GOOGLE_CLOUD_PROJECT": project, "CLOUD_ML_REGION": location}
        own["CLOUDSDK_CORE_PROJECT"] = project  # whatever the user's configuration of gcloud says
        pipeline = self.records.get("vertex", document.get("pipeline", "")) or {}
        if config := pipeline.get("inputDataConfig"):
            parent = pipeline["name"].rsplit("/", 2)[0]
            own |= splits.write_parts(self.automl.datasets, parent, config)
        return launch.plan(document, context, self.objects, base=self.environment | own)

    def collect(self, job: Job) -> None:
        """Take up the job's events, and add the model of a pipeline whose job has succeeded.

        Both before the job is seen to have ended.
        """
        document = self._by_id(job.id)
        if "automl" in document:
            self.automl.collect(document, job)
            return
        if problem := self.tracking.end(document, job.state):
            log = self.engine.log(job.id, launch.PRIMARY)
            job_files.append_line(log, f"local cloud: {problem}")
        pipeline = self.records.get("vertex", document.get("pipeline", ""))
        if job.state != State.SUCCEEDED or not pipeline or "modelToUpload" not in pipeline:
            return
        wanted = pipeline["modelToUpload"]
        base = document["resource"]["jobSpec"].get("baseOutputDirectory", {})
        if base and not wanted.get("artifactUri"):
            wanted["artifactUri"] = launch.folders(base["outputUriPrefix"])["AIP_MODEL_DIR"]
        wanted["trainingPipeline"] = pipeline["name"]
        try:
            model = self.models.add(pipeline["name"].rsplit("/", 2)[0], wanted, **_place(pipeline))
        except ApiError as problem:  # the registry has changed since the pipeline was sent
            raise EngineError(str(problem)) from problem
        pipeline["modelToUpload"] = wanted | {
            "name": model["name"],
            "versionId": model["versionId"],
        }
        self.records.put("vertex", pipeline["name"], pipeline)

    def name_of(self, job_id: str) -> str:
        """Return the name of the custom job, or AutoML's pipeline, that this engine's job is."""
        place = self.records.get("vertex-job", job_id)
        assert place is not None
        return str(place["name"])

    def _by_id(self, job_id: str) -> Json:
        return documents.get(self.records, self.name_of(job_id))


def _place(pipeline: Json) -> dict[str, str]:
    """Return where the registry puts the model that a pipeline uploads."""
    parent_model, model_id = pipeline.get("parentModel", ""), pipeline.get("modelId", "")
    return {"parent_model": parent_model, "model_id": model_id}


def _id(name: str) -> str:
    return name.rsplit("/", 1)[1]
