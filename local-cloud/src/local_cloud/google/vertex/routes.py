"""The resources of JobService, PipelineService, ScheduleService and ModelService, declared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from google.cloud.aiplatform_v1.types import (
    BatchDeletePipelineJobsRequest,
    BatchPredictionJob,
    CustomJob,
    HyperparameterTuningJob,
    Model,
    PipelineJob,
    TrainingPipeline,
)

from local_cloud.google.vertex.endpoints.batch_predictions import BatchPredictions
from local_cloud.google.vertex.jobs.training import Training
from local_cloud.google.vertex.parts import Parts
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.resource import Call, Method, Resource
from local_cloud.google.vertex.resources.schema import parse_message
from local_cloud.google.vertex.tuning.tuning import Tuning
from local_cloud.json_types import Json

# A look at a job is held until its state changes, at most this long: the SDK sleeps five seconds
# between two looks, and no longer than this does a reader wait who only asks for the state.
HOLD_SECONDS = 1.0


def training(parts: Parts) -> list[Resource]:
    """Return custom jobs, and the training pipelines that run one."""
    jobs = parts.training

    async def change(document: Json) -> None:
        job = jobs.engine_job(document)
        if not job.state.ended:
            await jobs.engine.wait_for_change(job, HOLD_SECONDS)

    return [
        _jobs(
            "customJobs",
            CustomJob,
            jobs,
            make=lambda call: jobs.create_custom_job(call.parent, call.body),
            show=jobs.custom_job,
            change=change,
        ),
        _jobs(
            "trainingPipelines",
            TrainingPipeline,
            jobs,
            make=lambda call: jobs.create_training_pipeline(call.parent, call.body),
            show=jobs.training_pipeline,
            change=change,
        ),
    ]


def tuning(parts: Parts) -> list[Resource]:
    """Return hyperparameter tuning jobs."""
    jobs = parts.tuning

    async def change(document: Json) -> None:
        study = jobs.studies.get(document["name"])
        if not study.state.ended:
            await jobs.studies.wait_for_change(study, HOLD_SECONDS)

    async def create(call: Call) -> Json:
        return jobs.submit(await asyncio.to_thread(jobs.check, call.parent, call.body))

    collection, proto = "hyperparameterTuningJobs", HyperparameterTuningJob
    return [_jobs(collection, proto, jobs, make=create, show=jobs.render, change=change)]


def batch_predictions(parts: Parts) -> list[Resource]:
    """Return batch prediction jobs."""
    jobs = parts.batches

    async def change(document: Json) -> None:
        await jobs.wait_for_end(document, HOLD_SECONDS)

    def create(call: Call) -> Json:
        return jobs.create(call.parent, call.body)

    collection, proto = "batchPredictionJobs", BatchPredictionJob
    return [_jobs(collection, proto, jobs, make=create, show=jobs.render, change=change)]


def pipelines(parts: Parts) -> list[Resource]:
    """Return pipeline jobs."""
    jobs = parts.pipelines

    async def get(call: Call) -> Json:
        await jobs.wait_for_end(jobs.get(call.name), HOLD_SECONDS)
        return await asyncio.to_thread(lambda: jobs.render(jobs.get(call.name)))

    async def create(call: Call) -> Json:
        checked = await asyncio.to_thread(jobs.check, call.parent, call.body)
        return jobs.submit(call.parent, checked, call.query.get("pipelineJobId", ""))

    methods: dict[str, Method] = {
        "create": create,
        "list": lambda call: jobs.page(call.parent, call.page),
        "get": get,
        "delete": lambda call: jobs.delete(jobs.get(call.name)),
        "POST *:cancel": lambda call: jobs.cancel(jobs.get(call.name)),
        "POST :batchCancel": lambda call: jobs.together("BatchCancel", call.parent, _names(call)),
        "POST :batchDelete": lambda call: jobs.together("BatchDelete", call.parent, _names(call)),
    }
    return [Resource("pipelineJobs", PipelineJob, methods, long_running=("delete",), on_loop=True)]


def schedules(parts: Parts) -> list[Resource]:
    """Return the schedules of pipeline jobs."""
    kind = parts.schedules
    methods: dict[str, Method] = {
        "POST *:pause": lambda call: kind.pause(call.name),
        "POST *:resume": lambda call: kind.resume(call.name, call.body),
    }
    return [Resource.of(kind, methods=methods, on_loop=True)]


def _names(call: Call) -> list[str]:
    """Return the names in the body of a request about several resources."""
    names: list[str] = parse_message(BatchDeletePipelineJobsRequest, call.body).get("names", [])
    return names


def _jobs(
    collection: str,
    proto: Any,
    jobs: Training | Tuning | BatchPredictions,
    *,
    make: Method,
    show: Callable[[Json], Json],
    change: Callable[[Json], Awaitable[None]],
) -> Resource:
    """Return a kind of job. change: waits a while for a change of the job's state."""
    records = jobs.records

    async def get(call: Call) -> Json:
        await change(documents.get(records, call.name))
        return await asyncio.to_thread(lambda: show(documents.get(records, call.name)))

    def list_all(call: Call) -> Json:
        resources, token = documents.page(records, call.name, query=call.page, render=show)
        return {collection: resources, "nextPageToken": token}

    return Resource(
        collection,
        proto,
        methods={
            "create": make,
            "list": list_all,
            "get": get,
            "delete": lambda call: jobs.delete(documents.get(records, call.name)),
            "POST *:cancel": lambda call: jobs.cancel(documents.get(records, call.name)),
        },
        long_running=("delete",),
        on_loop=True,
    )


def endpoints(parts: Parts) -> list[Resource]:
    """Return endpoints; predictions have routes of their own."""
    kind = parts.endpoints
    methods: dict[str, Method] = {
        "get": lambda call: kind.describe(call.name),
        "POST *:deployModel": lambda call: kind.deploy(call.name, call.body),
        "POST *:undeployModel": lambda call: kind.undeploy(call.name, call.body),
        "POST *:mutateDeployedModel": lambda call: kind.mutate(call.name, call.body),
    }
    return [Resource.of(kind, methods=methods, long_running=("create", "delete"), on_loop=True)]


def models(parts: Parts) -> list[Resource]:
    """Return models, with their versions."""
    registry = parts.models
    methods: dict[str, Method] = {
        "POST :upload": lambda call: registry.upload(call.parent, call.body),
        "list": lambda call: registry.list_models(call.name, call.page),
        "GET *:listVersions": lambda call: registry.list_versions(call.name, call.page),
        "get": lambda call: registry.get(call.name),
        "patch": lambda call: registry.patch(call.name, call.body, call.mask),
        "POST *:mergeVersionAliases": lambda call: registry.merge_aliases(call.name, call.body),
        "delete": lambda call: registry.delete(call.name),
        "DELETE *:deleteVersion": lambda call: registry.delete_version(call.name),
    }
    return [Resource("models", Model, methods, long_running=("delete", "DELETE *:deleteVersion"))]
