"""The REST routes of MetadataService."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from local_cloud.vertex.collection import Collection
from local_cloud.vertex.metadata import Metadata
from local_cloud.vertex.rest import PARENT, above, body, named, page
from local_cloud.vertex.schema import Json

STORES = f"{PARENT}/metadataStores"
STORE = STORES + "/{store:id}"


def routes(metadata: Metadata) -> list[BaseRoute]:
    """The stores, and what is in them."""
    return [
        *_stores(metadata),
        *_resources(metadata, metadata.contexts, "contextId"),
        *_resources(metadata, metadata.executions, "executionId"),
        *_resources(metadata, metadata.artifacts, "artifactId"),
        *_links(metadata),
    ]


def _stores(metadata: Metadata) -> list[BaseRoute]:
    async def create(request: Request) -> JSONResponse:
        parent, chosen = above(request), request.query_params.get("metadataStoreId", "")
        return JSONResponse(metadata.create_store(parent, await body(request), chosen))

    def list_all(request: Request) -> JSONResponse:
        query = dict(request.query_params)
        return page("metadataStores", metadata.stores.page(above(request), query))

    def get(request: Request) -> JSONResponse:
        return JSONResponse(metadata.stores.get(named(request)))

    def delete(request: Request) -> JSONResponse:
        return JSONResponse(metadata.delete_store(named(request)))

    return [
        Route(STORES, create, methods=["POST"]),
        Route(STORES, list_all, methods=["GET"]),
        Route(STORE, get, methods=["GET"]),
        Route(STORE, delete, methods=["DELETE"]),
    ]


def _resources(metadata: Metadata, kind: Collection, chosen_id: str) -> list[BaseRoute]:
    """The routes that contexts, executions and artifacts have alike."""

    async def create(request: Request) -> JSONResponse:
        chosen = request.query_params.get(chosen_id, "")
        return JSONResponse(metadata.create(kind, above(request), await body(request), chosen))

    def list_all(request: Request) -> JSONResponse:
        return page(kind.noun, metadata.page(kind, above(request), dict(request.query_params)))

    def get(request: Request) -> JSONResponse:
        return JSONResponse(kind.get(named(request)))

    async def patch(request: Request) -> JSONResponse:
        mask = request.query_params.get("updateMask", "")
        return JSONResponse(kind.patch(named(request), await body(request), mask))

    def delete(request: Request) -> JSONResponse:
        etag = request.query_params.get("etag", "")
        return JSONResponse(metadata.delete(kind, named(request), etag))

    path = f"{STORE}/{kind.noun}"
    return [
        Route(path, create, methods=["POST"]),
        Route(path, list_all, methods=["GET"]),
        Route(path + "/{id:id}", get, methods=["GET"]),
        Route(path + "/{id:id}", patch, methods=["PATCH"]),
        Route(path + "/{id:id}", delete, methods=["DELETE"]),
    ]


def _links(metadata: Metadata) -> list[BaseRoute]:
    """What connects contexts, executions and artifacts."""

    def post(noun: str, method: str, answer: Callable[[str, Json], Json]) -> BaseRoute:
        async def call(request: Request) -> JSONResponse:
            return JSONResponse(answer(named(request), await body(request)))

        return Route(f"{STORE}/{noun}/{{id:id}}:{method}", call, methods=["POST"])

    def get(noun: str, method: str, answer: Callable[[str, dict[str, str]], Json]) -> BaseRoute:
        def call(request: Request) -> JSONResponse:
            return JSONResponse(answer(named(request), dict(request.query_params)))

        return Route(f"{STORE}/{noun}/{{id:id}}:{method}", call, methods=["GET"])

    return [
        post("contexts", "addContextArtifactsAndExecutions", metadata.add_members),
        post("contexts", "addContextChildren", metadata.add_children),
        post("contexts", "removeContextChildren", metadata.remove_children),
        get("contexts", "queryContextLineageSubgraph", lambda name, _: metadata.subgraph(name)),
        post("executions", "addExecutionEvents", metadata.add_events),
        get(
            "executions",
            "queryExecutionInputsAndOutputs",
            lambda name, _: metadata.inputs_and_outputs(name),
        ),
        get("artifacts", "queryArtifactLineageSubgraph", metadata.lineage),
    ]
