"""Tensorboard resources and their data, driven by the real SDK."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.client.control import Status
from local_cloud.google.vertex.tracking.tensorboard_data import _place, _thin
from tests.google.vertex.resources.test_requests import PARENT, post


@pytest.fixture(scope="module")
def board(aiplatform: ModuleType) -> Any:
    return aiplatform.Tensorboard.create(display_name="for tests", labels={"kind": "test"})


@pytest.fixture
def run(aiplatform: ModuleType, board: Any, request: pytest.FixtureRequest) -> Any:
    """A run of its own for each test."""
    name = request.node.name.replace("_", "-")[:60]
    experiment = aiplatform.TensorboardExperiment.create(
        tensorboard_experiment_id=name, tensorboard_name=board.name
    )
    return aiplatform.TensorboardRun.create("run-1", experiment.resource_name)


def test_create_get_list_update_and_delete(aiplatform: ModuleType) -> None:
    made = aiplatform.Tensorboard.create(display_name="first", labels={"made-by": "tb-test"})
    assert made.gca_resource.blob_storage_path_prefix  # uploaders refuse one without
    made.update(display_name="renamed")
    (board,) = aiplatform.Tensorboard.list(filter="labels.made-by=tb-test")
    assert (board.name, board.display_name, board.labels) == (
        made.name,
        "renamed",
        {"made-by": "tb-test"},
    )
    made.delete()
    with pytest.raises(exceptions.NotFound):
        aiplatform.Tensorboard(made.resource_name)


def test_one_is_the_default_at_most(aiplatform: ModuleType) -> None:
    boards = [
        aiplatform.Tensorboard.create(display_name=f"default {number}", is_default=True)
        for number in range(2)
    ]
    defaults = aiplatform.Tensorboard.list(filter="is_default=true")
    assert [one.name for one in defaults] == [boards[1].name]
    boards[0].update(is_default=True)
    defaults = aiplatform.Tensorboard.list(filter="is_default=true")
    assert [one.name for one in defaults] == [boards[0].name]


def test_scalars_are_read_as_they_were_written(run: Any) -> None:
    for name in ("loss", "accuracy"):
        run.create_tensorboard_time_series(name)
    run.write_tensorboard_scalar_data({"loss": 0.5, "accuracy": 0.7}, step=2)
    run.write_tensorboard_scalar_data({"loss": 1.0}, step=1)
    run.write_tensorboard_scalar_data({"loss": 0.25}, step=2)  # written again: the last one stays
    data = run.read_time_series_data()
    points = {
        name: [(point.step, point.scalar.value) for point in series.values]
        for name, series in data.items()
    }
    assert points == {"loss": [(1, 1.0), (2, 0.25)], "accuracy": [(2, 0.7)]}


def test_a_long_series_is_thinned_out_when_read_and_whole_when_exported(
    aiplatform: ModuleType, run: Any
) -> None:
    from google.cloud.aiplatform_v1 import types

    series = run.create_tensorboard_time_series("loss")
    points = [
        types.TimeSeriesDataPoint(step=step, scalar=types.Scalar(value=step))
        for step in range(2500)
    ]
    data = types.TimeSeriesData(
        tensorboard_time_series_id=series.name,
        value_type=types.TensorboardTimeSeries.ValueType.SCALAR,
        values=points,
    )
    client = run.api_client
    client.write_tensorboard_run_data(tensorboard_run=run.resource_name, time_series_data=[data])
    read = run.read_time_series_data()["loss"].values
    assert (len(read), read[0].step, read[-1].step) == (1000, 0, 2499)
    name = series.resource_name
    for most, count in ((-1, 2500), (10, 10), (1, 1)):
        request = {"tensorboard_time_series": name, "max_data_points": most}
        answer = client.read_tensorboard_time_series_data(request=request)
        assert (len(answer.time_series_data.values), answer.time_series_data.values[-1].step) == (
            count,
            2499,
        )
    pages = client.export_tensorboard_time_series_data(tensorboard_time_series=name)
    assert [point.step for point in pages] == list(range(2500))
    resource = aiplatform.TensorboardTimeSeries(name).gca_resource
    assert resource.metadata.max_step == 2499


def test_batches_are_made_whole_or_not_at_all(aiplatform: ModuleType, run: Any) -> None:
    client, experiment = run.api_client, run.resource_name.rpartition("/runs/")[0]

    def asked(*names: str) -> dict[str, Any]:
        requests = [
            {
                "parent": experiment,
                "tensorboard_run": {"display_name": name},
                "tensorboard_run_id": name,
            }
            for name in names
        ]
        return {"parent": experiment, "requests": requests}

    made = client.batch_create_tensorboard_runs(request=asked("run-2", "run-3"))
    assert [one.display_name for one in made.tensorboard_runs] == ["run-2", "run-3"]
    with pytest.raises(exceptions.AlreadyExists):
        client.batch_create_tensorboard_runs(request=asked("run-4", "run-3"))
    runs = aiplatform.TensorboardRun.list(experiment)
    assert sorted(one.name for one in runs) == ["run-1", "run-2", "run-3"]
    wanted = {"display_name": "loss", "value_type": "SCALAR"}
    requests = [{"parent": one.resource_name, "tensorboard_time_series": wanted} for one in runs]
    series = client.batch_create_tensorboard_time_series(
        request={"parent": experiment, "requests": requests}
    ).tensorboard_time_series
    assert len(series) == 3
    data = [
        {
            "tensorboard_run": one.name.rpartition("/timeSeries/")[0],
            "time_series_data": [
                {
                    "tensorboard_time_series_id": one.name.rpartition("/")[2],
                    "value_type": "SCALAR",
                    "values": [{"step": 1, "scalar": {"value": 0.5}}],
                }
            ],
        }
        for one in series
    ]
    client.write_tensorboard_experiment_data(
        tensorboard_experiment=experiment, write_run_data_requests=data
    )
    for one in aiplatform.TensorboardRun.list(experiment):
        assert one.read_time_series_data()["loss"].values[0].scalar.value == 0.5


def test_what_is_deleted_takes_along_what_is_in_it(aiplatform: ModuleType, run: Any) -> None:
    run.create_tensorboard_time_series("loss")
    run.write_tensorboard_scalar_data({"loss": 0.5}, step=1)
    name = run.resource_name
    run.delete()
    with pytest.raises(exceptions.NotFound):
        aiplatform.TensorboardRun(name)
    again = aiplatform.TensorboardRun.create("run-1", name.rpartition("/runs/")[0])
    assert again.read_time_series_data() == {}


def test_a_wrong_request_is_refused(board: Any, run: Any, cloud: Status) -> None:
    series = run.create_tensorboard_time_series("loss")
    experiment = run.resource_name.rpartition("/runs/")[0]
    point = {"step": "1", "scalar": {"value": 1}}
    data = {"tensorboardTimeSeriesId": series.name, "valueType": "SCALAR", "values": [point]}
    tensor = data | {"valueType": "TENSOR"}
    nothing = data | {"values": [{"step": "1"}]}
    unknown = data | {"tensorboardTimeSeriesId": "12"}
    images = {"displayName": "images", "valueType": "BLOB_SEQUENCE"}
    for path, body, code, words in (
        (f"{PARENT}/tensorboards", {}, 400, "displayName: required"),
        (f"{PARENT}/tensorboards/1/experiments?tensorboardExperimentId=a", {}, 404, "tensorboards"),
        (f"/v1/{board.resource_name}/experiments", {}, 400, "tensorboardExperimentId: required"),
        (f"/v1/{experiment}/runs?tensorboardRunId=a/b", {}, 400, "displayName: required"),
        (f"/v1/{experiment}/runs?tensorboardRunId=A", {"displayName": "A"}, 400, "id 'A'"),
        (f"/v1/{run.resource_name}/timeSeries", {"displayName": "x"}, 400, "valueType: required"),
        (f"/v1/{run.resource_name}/timeSeries", images, 501, "BLOB_SEQUENCE"),
        (f"/v1/{run.resource_name}:write", {"timeSeriesData": [tensor]}, 400, "is of SCALAR"),
        (f"/v1/{run.resource_name}:write", {"timeSeriesData": [nothing]}, 400, "scalar: required"),
        (f"/v1/{run.resource_name}:write", {"timeSeriesData": [unknown]}, 404, "does not exist"),
        (f"/v1/{experiment}/runs:batchCreate", {}, 400, "requests: 0"),
    ):
        status, error = post(cloud, path, body)
        assert (status, words in error["message"]) == (code, True), error
    assert run.read_time_series_data()["loss"].values == []


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_steps_sort_as_numbers_do(steps: list[int]) -> None:
    assert sorted(steps) == sorted(steps, key=_place)


@given(st.integers(0, 300), st.integers(1, 40))
def test_a_thinned_out_series_keeps_its_ends_and_its_order(count: int, most: int) -> None:
    kept = _thin(list(range(count)), most)
    assert len(kept) == min(count, most)
    assert kept == sorted(set(kept))
    assert kept[-1:] == list(range(count))[-1:]
    assert most == 1 or kept[:1] == list(range(count))[:1]
