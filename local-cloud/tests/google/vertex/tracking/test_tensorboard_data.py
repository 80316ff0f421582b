"""Points of time series: as many as an answer has room for."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local_cloud.google import rest
from local_cloud.google.vertex.tracking import tensorboard_data
from local_cloud.google.vertex.tracking.tensorboard_data import Points
from local_cloud.store.records import Records

BOARD = "projects/1/locations/us-central1/tensorboards/2"
NAMES = [f"{BOARD}/experiments/e/runs/r/timeSeries/{series}" for series in ("one", "two")]
LARGEST = 100_000  # bytes of an answer


@pytest.fixture
def points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Points:
    """Two series of 64 tensors of 10 KB."""
    monkeypatch.setattr(rest, "PAGE_BYTES", LARGEST)
    monkeypatch.setattr(tensorboard_data, "PAGE_BYTES", LARGEST)
    series = {name: {"name": name, "valueType": "TENSOR"} for name in NAMES}
    made: Any = SimpleNamespace(get=series.__getitem__, kind="series")
    points_made = Points(Records(tmp_path / "records.db"), made)
    tensor = {"value": "x" * 10_000}
    for each in series.values():
        points_made.add(each, [{"step": str(step), "tensor": tensor} for step in range(64)])
    return points_made


def steps(points: list[Any]) -> list[int]:
    return [int(point["step"]) for point in points]


@pytest.mark.parametrize("most", ["0", "-1", "64"])
def test_they_are_spread_where_all_of_them_have_no_room(points: Points, most: str) -> None:
    answer = points.read(NAMES[0], {"maxDataPoints": most})
    assert len(json.dumps(answer)) < LARGEST * 1.01
    steps_shown = steps(answer["timeSeriesData"]["values"])
    assert (
        steps_shown[0] == 0
        and steps_shown[-1] == 63
        and steps_shown == sorted(steps_shown)
        and len(steps_shown) == 8
    )


def test_several_series_share_the_room(points: Points) -> None:
    answer = points.read_many(BOARD, NAMES)
    assert len(json.dumps(answer)) < LARGEST * 1.01
    assert [len(series["values"]) for series in answer["timeSeriesData"]] == [4, 4]


def test_an_export_has_them_all_in_pages(points: Points) -> None:
    steps_shown, token, pages = [], "", 0
    while token or not pages:
        answer = points.export(NAMES[0], {"pageToken": token})
        assert len(json.dumps(answer)) < LARGEST * 1.01
        steps_shown += steps(answer["timeSeriesDataPoints"])
        token, pages = answer["nextPageToken"], pages + 1
    assert steps_shown == list(range(64)) and pages == 8
