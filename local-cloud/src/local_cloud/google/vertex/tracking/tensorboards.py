"""Tensorboard resources: in each experiments, in these runs, in these time series."""

from __future__ import annotations

from google.cloud.aiplatform_v1.types import (
    BatchCreateTensorboardRunsRequest,
    BatchCreateTensorboardTimeSeriesRequest,
    Tensorboard,
    TensorboardExperiment,
    TensorboardRun,
    TensorboardTimeSeries,
)

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.schema import new_id, parse_message, require
from local_cloud.google.vertex.tracking.tensorboard_data import Points
from local_cloud.json_types import Json
from local_cloud.store.records import Records

MOST_AT_ONCE = 1000  # "A maximum of 1000 … can be created in a batch": both batchCreate requests
KEPT_TYPES = ("SCALAR", "TENSOR")


class Tensorboards:
    """The resources, each in its parent, and the points of the series."""

    def __init__(self, records: Records) -> None:
        """Keep them in `records`."""
        self.records = records
        self.boards = Collection(records, "tensorboards", Tensorboard)
        self.experiments = Collection(records, "experiments", TensorboardExperiment)
        self.runs = Collection(records, "runs", TensorboardRun)
        self.series = Collection(
            records, "timeSeries", TensorboardTimeSeries, fixed=("valueType", "pluginName")
        )
        self.points = Points(records, self.series)

    # ---- tensorboards -----------------------------------------------------------------------
    def create(self, parent: str, body: Json) -> Json:
        """Make a Tensorboard, and return it."""
        # Where the service would keep blobs: a bucket that no resource here ever needs.
        place = f"cloud-ai-platform-{new_id()}/tensorboard-{new_id()}"
        with self.records.transaction():
            board = self.boards.create(parent, body, "", blobStoragePathPrefix=place)
            self._only_default(board)
            return self.render(board)

    def _only_default(self, board: Json) -> None:
        """Keep one default Tensorboard: a new one takes the place of the old one.

        Source: types/tensorboard.py, is_default.
        """
        parent = board["name"].rsplit("/", 2)[0]
        for other in self.boards.children(parent) if board.get("isDefault") else ():
            if other["name"] != board["name"] and other.pop("isDefault", False):
                self.records.put(self.boards.kind, other["name"], other)

    def render(self, board: Json) -> Json:
        """Return a Tensorboard with the number of runs in it."""
        runs = sum(1 for _ in self.records.list(self.runs.kind, f"{board['name']}/"))
        return {**board, **({"runCount": runs} if runs else {})}

    def patch(self, name: str, body: Json, mask: str) -> Json:
        """Change a Tensorboard, and return it."""
        with self.records.transaction():
            board = self.boards.patch(name, body, mask)
            self._only_default(board)
            return self.render(board)

    def delete(self, kind: Collection, name: str) -> None:
        """Delete a Tensorboard or what is in one, with all that is below it."""
        with self.records.transaction():
            kind.delete(name)
            for other in (self.experiments, self.runs, self.series):
                other.delete_below(name)
            self.points.delete_below(name)

    # ---- what is in a Tensorboard -----------------------------------------------------------
    def above(self, kind: Collection) -> Collection:
        """Return the kind of the parents of this kind."""
        order = (self.boards, self.experiments, self.runs, self.series)
        return order[order.index(kind) - 1]

    def create_child(self, kind: Collection, parent: str, *, body: Json, chosen: str) -> Json:
        """Make an experiment, a run or a time series in its parent."""
        with self.records.transaction():
            self.above(kind).get(parent)
            if kind is self.series:
                _check_type(body)
            if kind is self.experiments:
                require(chosen, "tensorboardExperimentId: required")
            if kind is self.runs:
                require(chosen, "tensorboardRunId: required")
            name = body.get("displayName") or body.get("display_name")
            names = [one.get("displayName") for one in kind.children(parent)]
            if kind is not self.experiments and name in names:
                raise ApiError(
                    "ALREADY_EXISTS", f"{parent} has already one of the {kind.noun} named {name!r}."
                )
            return kind.create(parent, body, chosen)

    def add_runs(self, experiment: str, body: Json) -> Json:
        """runs:batchCreate: all of them or none."""
        request = parse_message(BatchCreateTensorboardRunsRequest, body)
        requested = _batch(request)
        with self.records.transaction():
            for one in requested:
                parent = documents.number_project(one.get("parent", ""))
                require(parent == experiment, f"requests[].parent: {parent!r} is not {experiment}")
            return {
                "tensorboardRuns": [
                    self.create_child(
                        self.runs,
                        experiment,
                        body=one.get("tensorboardRun", {}),
                        chosen=one.get("tensorboardRunId", ""),
                    )
                    for one in requested
                ]
            }

    def add_series(self, experiment: str, body: Json) -> Json:
        """experiments/ID:batchCreate: time series of several runs, all of them or none."""
        request = parse_message(BatchCreateTensorboardTimeSeriesRequest, body)
        made = []
        with self.records.transaction():
            for one in _batch(request):
                run = documents.number_project(one.get("parent", ""))
                require(
                    run.startswith(f"{experiment}/runs/"),
                    f"requests[].parent: {run!r} is no run of {experiment}",
                )
                wanted, chosen = (
                    one.get("tensorboardTimeSeries", {}),
                    one.get("tensorboardTimeSeriesId", ""),
                )
                made.append(self.create_child(self.series, run, body=wanted, chosen=chosen))
        return {"tensorboardTimeSeries": made}


def _check_type(body: Json) -> None:
    """Refuse a time series of values that are not kept here."""
    value = parse_message(TensorboardTimeSeries, body, "TensorboardTimeSeries").get("valueType")
    if value and value not in KEPT_TYPES:
        raise ApiError(
            "UNIMPLEMENTED",
            f"not implemented in the local cloud: a TensorboardTimeSeries of {value} (graphs, "
            "images, profiles and embeddings); the real TensorBoard shows them from the logs",
        )


def _batch(request: Json) -> list[Json]:
    requested: list[Json] = request.get("requests", [])
    require(
        0 < len(requested) <= MOST_AT_ONCE, f"requests: {len(requested)}; from 1 to {MOST_AT_ONCE}"
    )
    return requested
