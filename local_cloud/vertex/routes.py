"""The REST routes: which method answers which path, and how requests become JSON and back.

Paths and methods: the http rules in google.cloud.aiplatform_v1.services.*.transports.rest_base.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from local_cloud.vertex import metadata_routes, resources, tensorboard_routes
from local_cloud.vertex.errors import ApiError, render
from local_cloud.vertex.jobs import Training
from local_cloud.vertex.rest import LOCATION, PARENT, body, parent, resource_name
from local_cloud.vertex.schema import Json
from local_cloud.vertex.tuning import Tuning

# A look at a job is held until its state changes, at most this long: the SDK sleeps five seconds
# between two looks, and no longer than this does a reader wait who only asks for the state.
HOLD_SECONDS = 1.0

Answer = Callable[[Request], Awaitable[JSONResponse]]


def routes(training: Training) -> list[BaseRoute]:
    """Every route of Vertex AI that is implemented, and a last one that refuses the others."""
    return [
        *_jobs(training, "customJobs", training.create_custom_job, training.custom_job),
        *_jobs(
            training,
            "trainingPipelines",
            training.create_training_pipeline,
            training.training_pipeline,
        ),
        *_tuning(training.tuning),
        *_models(training),
        *metadata_routes.routes(training.metadata),
        *tensorboard_routes.routes(training.tensorboards),
        *_operations(training),
        Route("/v1/{rest:path}", _missing, methods=["GET", "POST", "PATCH", "PUT", "DELETE"]),
        Route("/v1beta1/{rest:path}", _missing, methods=["GET", "POST", "PATCH", "PUT", "DELETE"]),
    ]


async def _missing(request: Request) -> JSONResponse:
    problem = ApiError(
        "UNIMPLEMENTED",
        f"not implemented in the local cloud: {request.method} /v1/{request.path_params['rest']}",
    )
    return render(request, problem)


def _jobs(
    training: Training,
    collection: str,
    make: Callable[[str, Json], Json],
    show: Callable[[Json], Json],
) -> list[BaseRoute]:
    """The routes that custom jobs and training pipelines have alike."""
    records = training.records

    def document(request: Request) -> Json:
        return resources.get(records, resource_name(request, collection))

    async def create(request: Request) -> JSONResponse:
        return JSONResponse(make(parent(request), await body(request)))

    async def list_all(request: Request) -> JSONResponse:
        found, token = resources.page(
            records, f"{parent(request)}/{collection}", dict(request.query_params), show
        )
        return JSONResponse({collection: found, "nextPageToken": token})

    async def get(request: Request) -> JSONResponse:
        job = training.engine_job(document(request))
        if not job.state.ended:
            await training.engine.changed(job, HOLD_SECONDS)
        return JSONResponse(show(document(request)))

    async def cancel(request: Request) -> JSONResponse:
        training.cancel(document(request))
        return JSONResponse({})

    async def delete(request: Request) -> JSONResponse:
        return JSONResponse(training.delete(document(request)))

    return _routes(collection, create, list_all, get, cancel, delete)


def _routes(
    collection: str, create: Answer, list_all: Answer, get: Answer, cancel: Answer, delete: Answer
) -> list[BaseRoute]:
    path = f"{PARENT}/{collection}"
    return [
        Route(path, create, methods=["POST"]),
        Route(path, list_all, methods=["GET"]),
        Route(path + "/{id:id}:cancel", cancel, methods=["POST"]),
        Route(path + "/{id:id}", get, methods=["GET"]),
        Route(path + "/{id:id}", delete, methods=["DELETE"]),
    ]


def _tuning(tuning: Tuning) -> list[BaseRoute]:
    collection = "hyperparameterTuningJobs"

    def document(request: Request) -> Json:
        return resources.get(tuning.records, resource_name(request, collection))

    async def create(request: Request) -> JSONResponse:
        return JSONResponse(tuning.create(parent(request), await body(request)))

    async def list_all(request: Request) -> JSONResponse:
        found, token = resources.page(
            tuning.records, f"{parent(request)}/{collection}", dict(request.query_params),
            tuning.shown,
        )  # fmt: skip
        return JSONResponse({collection: found, "nextPageToken": token})

    async def get(request: Request) -> JSONResponse:
        study = tuning.studies.get(document(request)["name"])
        if not study.state.ended:
            await tuning.studies.changed(study, HOLD_SECONDS)
        return JSONResponse(tuning.shown(document(request)))

    async def cancel(request: Request) -> JSONResponse:
        tuning.cancel(document(request))
        return JSONResponse({})

    async def delete(request: Request) -> JSONResponse:
        return JSONResponse(tuning.delete(document(request)))

    return _routes(collection, create, list_all, get, cancel, delete)


def _models(training: Training) -> list[BaseRoute]:
    models = training.models

    async def upload(request: Request) -> JSONResponse:
        return JSONResponse(models.upload(parent(request), await body(request)))

    def list_all(request: Request) -> JSONResponse:
        query = dict(request.query_params)
        return JSONResponse(models.list_models(f"{parent(request)}/models", query))

    def get(request: Request) -> JSONResponse:
        return JSONResponse(models.get(resource_name(request, "models")))

    def list_versions(request: Request) -> JSONResponse:
        query = dict(request.query_params)
        return JSONResponse(models.list_versions(resource_name(request, "models"), query))

    async def patch(request: Request) -> JSONResponse:
        mask = request.query_params.get("updateMask", "")
        name = resource_name(request, "models")
        return JSONResponse(models.patch(name, await body(request), mask))

    async def merge_aliases(request: Request) -> JSONResponse:
        name = resource_name(request, "models")
        return JSONResponse(models.merge_aliases(name, await body(request)))

    def delete(request: Request) -> JSONResponse:
        return JSONResponse(models.delete(resource_name(request, "models")))

    def delete_version(request: Request) -> JSONResponse:
        return JSONResponse(models.delete_version(resource_name(request, "models")))

    path = f"{PARENT}/models"
    return [
        Route(path + ":upload", upload, methods=["POST"]),
        Route(path, list_all, methods=["GET"]),
        Route(path + "/{id:id}:listVersions", list_versions, methods=["GET"]),
        Route(path + "/{id:id}:mergeVersionAliases", merge_aliases, methods=["POST"]),
        Route(path + "/{id:id}:deleteVersion", delete_version, methods=["DELETE"]),
        Route(path + "/{id:id}", get, methods=["GET"]),
        Route(path + "/{id:id}", patch, methods=["PATCH"]),
        Route(path + "/{id:id}", delete, methods=["DELETE"]),
    ]


def _operations(training: Training) -> list[BaseRoute]:
    """Operations belong to a location or to a resource; the SDK asks for them below /ui."""

    def get(request: Request) -> JSONResponse:
        owner = request.path_params.get("owner")
        collection = f"{request.path_params['kind']}/{owner}/operations" if owner else "operations"
        return JSONResponse(resources.get(training.records, resource_name(request, collection)))

    return [
        Route(f"{root}{LOCATION}{place}/operations/{{id:id}}", get, methods=["GET"])
        for root in ("/ui", "/v1")
        for place in ("", "/{kind}/{owner:id}")
    ]
