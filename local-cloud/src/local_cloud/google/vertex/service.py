"""Vertex AI as a service: its resources, one line each, and what it gives the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from local_cloud.engine.dialect import Dialect
from local_cloud.google.rest import VERBS, refuse_unknown
from local_cloud.google.vertex import (
    dataset_routes,
    metadata_routes,
    routes,
    tensorboard_routes,
    vizier_routes,
)
from local_cloud.google.vertex.endpoints import policies
from local_cloud.google.vertex.endpoints.serving_dialect import DeploymentDialect
from local_cloud.google.vertex.jobs.failure_messages import FailureMessages
from local_cloud.google.vertex.jobs.training import DIALECT
from local_cloud.google.vertex.parts import Parts
from local_cloud.google.vertex.resources import documents, rest
from local_cloud.google.vertex.resources.errors import REFUSED, render
from local_cloud.google.vertex.resources.resource import Resource
from local_cloud.platform import Platform, Service

RESOURCES: tuple[Callable[[Parts], Sequence[Resource]], ...] = (
    routes.training,
    routes.tuning,
    routes.models,
    dataset_routes.resources,
    routes.endpoints,
    routes.batch_predictions,
    routes.pipelines,
    routes.schedules,
    metadata_routes.resources,
    tensorboard_routes.resources,
    vizier_routes.resources,
)
# A look at an operation is held until it ends, at most this long: between two looks the SDK sleeps
# for seconds, ever longer.
OPERATION_SECONDS = 20.0


def service(platform: Platform) -> Service:
    """Return Vertex AI, with all that is declared in RESOURCES."""
    parts = Parts.of(platform)
    declared = [resource for declare in RESOURCES for resource in declare(parts)]
    routes = [route for one in declared for route in rest.routes(one, platform.records)]
    missing = [
        Route(f"/{version}/{{rest:path}}", refuse_unknown, methods=VERBS)
        for version in ("v1", "v1beta1")
    ]
    return Service(
        first=parts.predictions.routes(),
        routes=[
            *routes,
            *policies.routes(parts.endpoints),
            *_operations(parts),
            *missing,
        ],
        dialect=Dialect(
            DIALECT,
            parts.training,
            parts.tuning,
            DeploymentDialect(platform, parts.endpoints, parts.batches),
            failures=FailureMessages(platform.records),
        ),
        errors=dict.fromkeys(REFUSED, render),
        runners=[parts.pipelines, parts.schedules, parts.batches],
    )


def _operations(parts: Parts) -> list[BaseRoute]:
    """Return the routes of operations, which the SDK asks for below /ui."""

    async def get(request: Request) -> JSONResponse:
        document = documents.get(parts.platform.records, rest.read_name(request))
        return JSONResponse(await parts.endpoints.operation(document, OPERATION_SECONDS))

    return [
        Route(f"{root}{rest.LOCATION}{place}/operations/{{id:id}}", get, methods=["GET"])
        for root in ("/ui", "/v1", "/v1beta1")  # gcloud waits with the last one
        for place in ("", "/{kind}/{owner:id}", "/{kind}/{owner:id}/{inner}/{part:id}")
    ]
