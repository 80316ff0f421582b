"""The points of Tensorboard's time series: write, read and export."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from google.cloud.aiplatform_v1.types import (
    ExportTensorboardTimeSeriesDataRequest,
    WriteTensorboardExperimentDataRequest,
    WriteTensorboardRunDataRequest,
)

from local_cloud.google.rest import PAGE_BYTES, ApiError, fit
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.schema import parse_message, require, timestamp
from local_cloud.http.whole_numbers import whole
from local_cloud.json_types import Json
from local_cloud.store.records import Records

KIND = "vertex-points"  # records of the name `SERIES/STEP`
FIELD = {"SCALAR": "scalar", "TENSOR": "tensor"}
# "The data point number limit is 1000 for scalars, 100 for tensors": batchRead. Where there are
# more, the service picks some at random; here they are evenly spread, with the first and the last.
MOST = {"SCALAR": 1000, "TENSOR": 100}
MOST_READ = 10_000  # max_data_points "can't be greater than 10k"
EXPORTED, MOST_EXPORTED = 1000, 10_000  # points in a page: ExportTensorboardTimeSeriesDataRequest


class Points:
    """One record for each step of each series: what is written again replaces what was there."""

    def __init__(self, records: Records, series: Collection) -> None:
        """Keep them in `records`; `series` are the resources that they belong to."""
        self.records = records
        self.series = series

    def write_run(self, run: str, body: Json) -> Json:
        """runs/ID:write: points of several series of a run, all of them or none."""
        request = parse_message(WriteTensorboardRunDataRequest, body)
        with self.records.transaction():
            self._write(run, request)
        return {}

    def write_experiment(self, experiment: str, body: Json) -> Json:
        """experiments/ID:write: the same for several runs."""
        request = parse_message(WriteTensorboardExperimentDataRequest, body)
        with self.records.transaction():
            for one in request.get("writeRunDataRequests", []):
                run = documents.number_project(one.get("tensorboardRun", ""))
                require(
                    run.startswith(f"{experiment}/runs/"),
                    f"writeRunDataRequests[].tensorboardRun: {run!r} is no run of {experiment}",
                )
                self._write(run, one)
        return {}

    def _write(self, run: str, request: Json) -> None:
        for data in request.get("timeSeriesData", []):
            series = self.series.get(f"{run}/timeSeries/{data.get('tensorboardTimeSeriesId', '')}")
            kind = series["valueType"]
            require(
                data.get("valueType") == kind,
                f"timeSeriesData[].valueType: {series['name']} is of {kind}",
            )
            self.add(series, data.get("values", []))

    def add(self, series: Json, points: list[Json]) -> None:
        """Record points of one series, inside the caller's transaction."""
        name, field = series["name"], FIELD[series["valueType"]]
        metadata = series.get("metadata", {})
        for point in points:
            require(field in point, f"timeSeriesData[].values[].{field}: required in {name}")
            point.setdefault("wallTime", timestamp(time.time()))
            step = int(point.get("step", 0))
            self.records.put(KIND, f"{name}/{_place(step)}", point)
            if step >= int(metadata.get("maxStep", step)):
                metadata["maxStep"] = str(step)
            metadata["maxWallTime"] = max(metadata.get("maxWallTime", ""), point["wallTime"])
        series |= {"metadata": metadata, "updateTime": timestamp(time.time())}
        self.records.put(self.series.kind, name, series)

    def read(self, name: str, query: dict[str, str]) -> Json:
        """timeSeries/ID:read."""
        _no_filter(query.get("filter"))
        most = query.get("maxDataPoints", "") or "0"
        count = -1 if most == "-1" else whole(most)
        if count is None:
            raise ApiError("INVALID_ARGUMENT", "maxDataPoints: a number from 1, or -1 for all")
        return {"timeSeriesData": self._data(self.series.get(name), count, PAGE_BYTES)}

    def read_many(self, board: str, names: list[str]) -> Json:
        """tensorboards/ID:batchRead."""
        require(names, "timeSeries: required")
        series = []
        for name in map(documents.number_project, names):
            require(
                name.startswith(f"{board}/experiments/"), f"{name!r} is no time series of {board}"
            )
            series.append(self._data(self.series.get(name), 0, PAGE_BYTES // len(names)))
        return {"timeSeriesData": series}

    def _data(self, series: Json, most: int, room: int) -> Json:
        """Return all of a series' points, or so many.

        most: 0 means as many as the service gives unasked. room: bytes of them all; where they have
        more, there are fewer of them.
        """
        kind = series["valueType"]
        names = self._names(series["name"])
        if most != -1:
            names = _thin(names, min(most, MOST_READ) or MOST[kind])
        while (points := self._read_within(names, room)) is None:
            names = _thin(names, len(names) // 2)
        return {
            "tensorboardTimeSeriesId": series["name"].rpartition("/")[2],
            "valueType": kind,
            "values": points,
        }

    def _names(self, name: str) -> Sequence[str]:
        """Return the records' names of the points of a series, by step."""
        return self.records.names(KIND, f"{name}/")

    def _points(self, names: Iterable[str]) -> Iterator[Json]:
        return (point for name in names if (point := self.records.get(KIND, name)))

    def _read_within(self, names: Sequence[str], room: int) -> list[Json] | None:
        """Return these points; None if they have more bytes, unless there is only one."""
        points = []
        for point in self._points(names):
            room -= len(json.dumps(point))
            if room < 0 and len(names) > 1:
                return None
            points.append(point)
        return points

    def export(self, name: str, body: Json) -> Json:
        """timeSeries/ID:exportTensorboardTimeSeries: every point, in pages, by step."""
        request = parse_message(ExportTensorboardTimeSeriesDataRequest, body)
        _no_filter(request.get("filter"))
        if request.get("orderBy", "step") != "step":
            raise ApiError(
                "UNIMPLEMENTED", "not implemented in the local cloud: orderBy other than step"
            )
        self.series.get(name)
        size = request.get("pageSize", 0) or EXPORTED
        try:
            start = int(base64.urlsafe_b64decode(request.get("pageToken", "")) or b"0")
        except ValueError:
            start = -1
        require(size > 0 and start >= 0, "pageToken or pageSize is not valid")
        names = self._names(name)
        points = list(fit(self._points(names[start : start + min(size, MOST_EXPORTED)])))
        end = start + len(points)
        more = bool(points) and end < len(names)
        token = base64.urlsafe_b64encode(str(end).encode()).decode() if more else ""
        return {"timeSeriesDataPoints": points, "nextPageToken": token}

    def delete_below(self, name: str) -> None:
        """Delete the points of a series, or of all that lie below this name."""
        self.records.delete_below(KIND, f"{name}/")


def _place(step: int) -> str:
    """Return a step as a text that sorts as the number does, below 0 as well."""
    return f"{step + 2**63:020d}"


def _thin(points: Sequence[Any], most: int) -> Sequence[Any]:
    """Return so many points at most, evenly spread.

    The last is always there, and the first if there is room.
    """
    if len(points) <= most:
        return points
    if most == 1:
        return points[-1:]
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]


def _no_filter(text: str | None) -> None:
    if text:
        raise ApiError("UNIMPLEMENTED", "not implemented in the local cloud: a filter of points")
