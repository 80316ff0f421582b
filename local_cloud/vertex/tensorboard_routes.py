"""The REST routes of TensorboardService."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from local_cloud.vertex.collection import Collection
from local_cloud.vertex.rest import PARENT, above, body, named, page
from local_cloud.vertex.schema import Json
from local_cloud.vertex.tensorboards import Tensorboards

BOARDS = f"{PARENT}/tensorboards"
BOARD = BOARDS + "/{board:id}"
EXPERIMENT = BOARD + "/experiments/{experiment:id}"
RUN = EXPERIMENT + "/runs/{run:id}"
SERIES = RUN + "/timeSeries/{series:id}"


def routes(tensorboards: Tensorboards) -> list[BaseRoute]:
    """The resources, one in the other, and their data."""
    return [
        *_boards(tensorboards),
        *_inside(tensorboards, tensorboards.experiments, BOARD, "tensorboardExperiments"),
        *_inside(tensorboards, tensorboards.runs, EXPERIMENT, "tensorboardRuns"),
        *_inside(tensorboards, tensorboards.series, RUN, "tensorboardTimeSeries"),
        *_data(tensorboards),
    ]


def _boards(tensorboards: Tensorboards) -> list[BaseRoute]:
    boards = tensorboards.boards

    async def create(request: Request) -> JSONResponse:
        return JSONResponse(tensorboards.create(above(request), await body(request)))

    def list_all(request: Request) -> JSONResponse:
        query = dict(request.query_params)
        found = boards.page(above(request), query, render=tensorboards.shown)
        return page("tensorboards", found)

    def get(request: Request) -> JSONResponse:
        return JSONResponse(tensorboards.shown(boards.get(named(request))))

    async def patch(request: Request) -> JSONResponse:
        mask = request.query_params.get("updateMask", "")
        return JSONResponse(tensorboards.patch(named(request), await body(request), mask))

    def delete(request: Request) -> JSONResponse:
        return JSONResponse(tensorboards.delete(boards, named(request)))

    return [
        Route(BOARDS, create, methods=["POST"]),
        Route(BOARDS, list_all, methods=["GET"]),
        Route(BOARD, get, methods=["GET"]),
        Route(BOARD, patch, methods=["PATCH"]),
        Route(BOARD, delete, methods=["DELETE"]),
    ]


def _inside(
    tensorboards: Tensorboards, kind: Collection, parent: str, listed: str
) -> list[BaseRoute]:
    """The routes that experiments, runs and time series have alike."""
    chosen_id = f"{listed.removesuffix('s') if kind.noun != 'timeSeries' else listed}Id"

    async def create(request: Request) -> JSONResponse:
        chosen = request.query_params.get(chosen_id, "")
        sent = await body(request)
        return JSONResponse(tensorboards.add(kind, above(request), sent, chosen))

    def list_all(request: Request) -> JSONResponse:
        place = above(request)
        tensorboards.above(kind).get(place)
        return page(listed, kind.page(place, dict(request.query_params)))

    def get(request: Request) -> JSONResponse:
        return JSONResponse(kind.get(named(request)))

    async def patch(request: Request) -> JSONResponse:
        mask = request.query_params.get("updateMask", "")
        return JSONResponse(kind.patch(named(request), await body(request), mask))

    def delete(request: Request) -> JSONResponse:
        return JSONResponse(tensorboards.delete(kind, named(request)))

    path = f"{parent}/{kind.noun}"
    return [
        Route(path, create, methods=["POST"]),
        Route(path, list_all, methods=["GET"]),
        Route(path + "/{id:id}", get, methods=["GET"]),
        Route(path + "/{id:id}", patch, methods=["PATCH"]),
        Route(path + "/{id:id}", delete, methods=["DELETE"]),
    ]


def _data(tensorboards: Tensorboards) -> list[BaseRoute]:
    """What makes many at once, and the points."""
    points = tensorboards.points

    def post(path: str, answer: Callable[[str, Json], Json]) -> BaseRoute:
        async def call(request: Request) -> JSONResponse:
            return JSONResponse(answer(named(request), await body(request)))

        return Route(path, call, methods=["POST"])

    def read(request: Request) -> JSONResponse:
        return JSONResponse(points.read(named(request), dict(request.query_params)))

    def read_many(request: Request) -> JSONResponse:
        names = request.query_params.getlist("timeSeries")
        return JSONResponse(points.read_many(named(request), names))

    def add_runs(name: str, sent: Json) -> Json:
        return tensorboards.add_runs(name.removesuffix("/runs"), sent)

    return [
        post(EXPERIMENT + "/runs:batchCreate", add_runs),
        post(EXPERIMENT + ":batchCreate", tensorboards.add_series),
        post(EXPERIMENT + ":write", points.write_experiment),
        post(RUN + ":write", points.write_run),
        Route(BOARD + ":batchRead", read_many, methods=["GET"]),
        Route(SERIES + ":read", read, methods=["GET"]),
        post(SERIES + ":exportTensorboardTimeSeries", points.export),
    ]
