"""The resources of TensorboardService, declared: one in the other, and their data."""

from __future__ import annotations

from local_cloud.google.vertex.parts import Parts
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.resource import (
    Call,
    Method,
    Resource,
    id_in_query,
    render_list,
)
from local_cloud.google.vertex.tracking.tensorboards import Tensorboards
from local_cloud.json_types import Json

BOARD = "tensorboards/*"
EXPERIMENT = f"{BOARD}/experiments/*"
RUN = f"{EXPERIMENT}/runs/*"


def resources(parts: Parts) -> list[Resource]:
    """Return Tensorboards, experiments, runs and time series."""
    boards = parts.tensorboards
    data = _data(boards)
    return [
        Resource.of(
            boards.boards,
            methods=_boards(boards) | data["tensorboards"],
            long_running=("create", "patch", "delete"),
        ),
        *(
            Resource.of(kind, within, methods=_own(boards, kind) | data[kind.noun])
            for kind, within in (
                (boards.experiments, BOARD),
                (boards.runs, EXPERIMENT),
                (boards.series, RUN),
            )
        ),
    ]


def _boards(boards: Tensorboards) -> dict[str, Method]:
    def list_all(call: Call) -> Json:
        page = boards.boards.page(call.parent, call.page, render=boards.render)
        return render_list(boards.boards, page)

    return {
        "create": lambda call: boards.create(call.parent, call.body),
        "list": list_all,
        "get": lambda call: boards.render(boards.boards.get(call.name)),
        "patch": lambda call: boards.patch(call.name, call.body, call.mask),
        "delete": lambda call: boards.delete(boards.boards, call.name),
    }


def _own(boards: Tensorboards, kind: Collection) -> dict[str, Method]:
    """Return what experiments, runs and time series do in their own way, all alike."""

    def create(call: Call) -> Json:
        return boards.create_child(
            kind, call.parent, body=call.body, chosen=id_in_query(kind, call)
        )

    def list_all(call: Call) -> Json:
        boards.above(kind).get(call.parent)
        return render_list(kind, kind.page(call.parent, call.page))

    return {
        "create": create,
        "list": list_all,
        "delete": lambda call: boards.delete(kind, call.name),
    }


def _data(boards: Tensorboards) -> dict[str, dict[str, Method]]:
    """Return what makes many at once, and the points, by collection."""
    points = boards.points

    def read_many(call: Call) -> Json:
        return points.read_many(call.name, call.query.getlist("timeSeries"))

    return {
        "tensorboards": {"GET *:batchRead": read_many},
        "experiments": {
            "POST *:batchCreate": lambda call: boards.add_series(call.name, call.body),
            "POST *:write": lambda call: points.write_experiment(call.name, call.body),
        },
        "runs": {
            "POST :batchCreate": lambda call: boards.add_runs(call.parent, call.body),
            "POST *:write": lambda call: points.write_run(call.name, call.body),
        },
        "timeSeries": {
            "GET *:read": lambda call: points.read(call.name, dict(call.query)),
            "POST *:exportTensorboardTimeSeries": lambda call: points.export(call.name, call.body),
        },
    }
