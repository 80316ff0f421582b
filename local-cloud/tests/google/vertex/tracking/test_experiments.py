"""Experiments, runs and lineage, driven by the real SDK."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from sklearn.linear_model import LogisticRegression

from local_cloud.client.control import Status
from tests.google.vertex.resources.test_requests import PARENT, post

STORE = f"{PARENT}/metadataStores/default"


@pytest.fixture
def tracked(aiplatform: ModuleType) -> Iterator[Any]:
    """Begin an experiment of this name; afterwards none is set in this process."""

    def begin(name: str) -> Any:
        aiplatform.init(experiment=name)
        return aiplatform.Experiment(name)

    yield begin
    aiplatform.metadata.metadata._experiment_tracker.reset()


def test_a_run_keeps_parameters_metrics_and_curves(aiplatform: ModuleType, tracked: Any) -> None:
    tracked("curves")
    with aiplatform.start_run("first"):
        aiplatform.log_params({"learning_rate": 0.01, "hidden": "64,32", "epochs": 50})
        aiplatform.log_metrics({"accuracy": 0.81})
        for step in (1, 2):
            aiplatform.log_time_series_metrics({"loss": 1 / step}, step=step)
        aiplatform.log_time_series_metrics({"loss": 0.1})  # the step after the last
        assert aiplatform.ExperimentRun("first", experiment="curves").get_state() == "RUNNING"
    run = aiplatform.ExperimentRun("first", experiment="curves")
    assert run.get_params() == {"learning_rate": 0.01, "hidden": "64,32", "epochs": 50.0}
    assert run.get_metrics() == {"accuracy": 0.81}
    assert run.get_state() == "COMPLETE"
    curve = run.get_time_series_data_frame()
    assert list(zip(curve["step"], curve["loss"], strict=True)) == [(1, 1.0), (2, 0.5), (3, 0.1)]


def test_the_table_of_an_experiment(aiplatform: ModuleType, tracked: Any) -> None:
    tracked("the-table")
    for number in (1, 2):
        with aiplatform.start_run(f"run-{number}"):
            aiplatform.log_params({"seed": number})
            aiplatform.log_metrics({"accuracy": number / 10})
            aiplatform.log_time_series_metrics({"loss": number}, step=1)
    table = aiplatform.get_experiment_df("the-table").set_index("run_name")
    assert list(table.index) == ["run-2", "run-1"]  # the newest first
    assert dict(table["param.seed"]) == {"run-1": 1, "run-2": 2}
    assert dict(table["metric.accuracy"]) == {"run-1": 0.1, "run-2": 0.2}
    assert dict(table["time_series_metric.loss"]) == {"run-1": 1, "run-2": 2}
    assert set(table["state"]) == {"COMPLETE"}
    without = aiplatform.get_experiment_df("the-table", include_time_series=False)
    assert "time_series_metric.loss" not in without.columns


@pytest.mark.filterwarnings("ignore:autolog", "ignore::FutureWarning")
def test_autolog_keeps_what_a_model_was_trained_with(aiplatform: ModuleType, tracked: Any) -> None:
    """With the mlflow of this environment, which the other SDK needs, it would be silent."""
    tracked("automatic")
    aiplatform.autolog()
    try:
        LogisticRegression(C=0.5).fit([[0.0], [1.0]], [0, 1])
        with aiplatform.start_run("by-name"):
            LogisticRegression(C=0.7).fit([[0.0], [1.0]], [0, 1])
    finally:
        aiplatform.autolog(disable=True)
    named, alone = aiplatform.ExperimentRun.list(experiment="automatic")
    assert (named.get_params()["C"], alone.get_params()["C"]) == ("0.7", "0.5")
    assert alone.get_metrics()["training_accuracy_score"] == 1.0
    assert alone.get_state() == "COMPLETE"


def test_a_run_that_raises_is_a_failed_one(aiplatform: ModuleType, tracked: Any) -> None:
    tracked("failing")
    with pytest.raises(ZeroDivisionError), aiplatform.start_run("broken"):
        _ = 1 / 0
    assert aiplatform.ExperimentRun("broken", experiment="failing").get_state() == "FAILED"


def test_a_run_is_gone_on_with_only_where_that_is_asked_for(
    aiplatform: ModuleType, tracked: Any
) -> None:
    tracked("resumed")
    with aiplatform.start_run("again"):
        aiplatform.log_metrics({"accuracy": 0.8})
    with pytest.raises(exceptions.AlreadyExists):
        aiplatform.start_run("again")
    with aiplatform.start_run("again", resume=True) as run:
        assert run.get_state() == "RUNNING"
        aiplatform.log_metrics({"loss": 0.4})
    assert run.get_metrics() == {"accuracy": 0.8, "loss": 0.4}
    with pytest.raises(exceptions.NotFound):
        aiplatform.start_run("never-begun", resume=True)


def test_what_two_processes_log_to_one_run_is_all_kept(
    aiplatform: ModuleType, tracked: Any
) -> None:
    """Each has its own copy of the run; the service says which one is old."""
    tracked("shared")
    aiplatform.start_run("both")
    copies = [aiplatform.ExperimentRun("both", experiment="shared") for _ in range(3)]
    threads = [
        threading.Thread(target=copy.log_metrics, args=({f"metric-{place}": place},))
        for place, copy in enumerate(copies)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    metrics = aiplatform.ExperimentRun("both", experiment="shared").get_metrics()
    assert metrics == {"metric-0": 0, "metric-1": 1, "metric-2": 2}


def test_classification_metrics(aiplatform: ModuleType, tracked: Any) -> None:
    tracked("classified")
    with aiplatform.start_run("matrix") as run:
        aiplatform.log_classification_metrics(
            labels=["died", "survived"], matrix=[[9, 1], [2, 8]], display_name="on validation",
            fpr=[0.0, 1.0], tpr=[0.0, 1.0], threshold=[1.0, 0.0],
        )  # fmt: skip
    (classification_metrics,) = run.get_classification_metrics()
    assert classification_metrics["display_name"] == "on validation"
    assert classification_metrics["labels"] == ["died", "survived"]
    assert classification_metrics["matrix"] == [[9, 1], [2, 8]]
    assert (
        classification_metrics["fpr"],
        classification_metrics["tpr"],
        classification_metrics["threshold"],
    ) == ([0, 1], [0, 1], [1, 0])


def test_list_and_delete_experiments_and_runs(aiplatform: ModuleType, tracked: Any) -> None:
    experiment = tracked("to-delete")
    for name in ("one", "two"):
        with aiplatform.start_run(name):
            aiplatform.log_time_series_metrics({"loss": 1.0})
    board = experiment.get_backing_tensorboard_resource()
    place = {"tensorboard_experiment_name": "to-delete", "tensorboard_id": board.name}
    runs = aiplatform.ExperimentRun.list(experiment="to-delete")
    assert sorted(run.name for run in runs) == ["one", "two"]
    aiplatform.ExperimentRun("one", experiment="to-delete").delete(
        delete_backing_tensorboard_run=True
    )
    assert [run.name for run in aiplatform.TensorboardRun.list(**place)] == ["two"]
    assert "to-delete" in [one.name for one in aiplatform.Experiment.list()]
    experiment.delete(delete_backing_tensorboard_runs=True)
    assert aiplatform.Experiment.get("to-delete") is None
    assert "to-delete" not in [one.name for one in aiplatform.Experiment.list()]
    assert aiplatform.TensorboardRun.list(**place) == []


def test_lineage_of_an_execution(aiplatform: ModuleType, tracked: Any) -> None:
    tracked("lineage")
    aiplatform.start_run("traced")
    data = aiplatform.Artifact.create("system.Dataset", uri="gs://lesson/train.npz")
    with aiplatform.start_execution(schema_title="system.ContainerExecution") as execution:
        execution.assign_input_artifacts([data])
        model = aiplatform.Artifact.create("system.Model", uri="gs://lesson/model.pt")
        execution.assign_output_artifacts([model])
    assert execution.state.name == "COMPLETE"
    assert [one.uri for one in execution.get_input_artifacts()] == ["gs://lesson/train.npz"]
    assert [one.uri for one in execution.get_output_artifacts()] == ["gs://lesson/model.pt"]
    run = aiplatform.ExperimentRun("traced", experiment="lineage")
    assert [one.name for one in run.get_executions()] == [execution.name]
    assert {data.name, model.name} < {one.name for one in run.get_artifacts()}
    from_data = data.lineage_console_uri  # what the SDK shows is a page of the real console
    assert from_data.startswith("https://console.cloud.google.com/")
    client = data.api_client
    whole = client.query_artifact_lineage_subgraph(artifact=data.resource_name)
    assert {one.uri for one in whole.artifacts} == {"gs://lesson/train.npz", "gs://lesson/model.pt"}
    near = client.query_artifact_lineage_subgraph(
        request={"artifact": data.resource_name, "max_hops": 1}
    )
    assert [event.type_.name for event in near.events] == ["INPUT"]
    inside = client.query_context_lineage_subgraph(context=run.resource_name)
    assert {event.type_.name for event in inside.events} == {"INPUT", "OUTPUT"}
    model.delete()
    assert execution.get_input_artifacts()[0].name == data.name


def test_filters_of_artifacts(aiplatform: ModuleType, tracked: Any) -> None:
    tracked("filtered")
    for rate in (0.1, 0.01):
        aiplatform.Artifact.create(
            "system.Model", display_name="filtered", metadata={"learning rate": rate}
        )
    asked = 'display_name="filtered" AND metadata."learning rate".number_value > 0.05'
    assert [one.metadata for one in aiplatform.Artifact.list(filter=asked)] == [
        {"learning rate": 0.1}
    ]
    with pytest.raises(exceptions.BadRequest, match="cannot be read"):
        aiplatform.Artifact.list(filter="in_context(")


@pytest.mark.parametrize(
    ("path", "body", "code", "words"),
    [
        (f"{STORE}/contexts?contextId=Titanic_1", {}, 400, "the id 'Titanic_1' does not match"),
        (f"{STORE}/contexts?contextId=abc", {}, 400, "does not match"),
        (f"{STORE}/contexts", {"colour": "blue"}, 400, "colour"),
        (f"{PARENT}/metadataStores/none/contexts", {}, 404, "metadataStores/none does not exist"),
        (f"{STORE}/contexts/none:addContextChildren", {}, 404, "contexts/none does not exist"),
        (
            f"{STORE}/executions/none:addExecutionEvents",
            {"events": [{"artifact": "x"}]},
            404,
            "executions/none does not exist",
        ),
        (f"{STORE}/artifacts:purge", {}, 501, "not implemented in the local cloud"),
    ],
)
def test_a_wrong_request_is_refused(
    tracked: Any, cloud: Status, path: str, body: Any, code: int, words: str
) -> None:
    tracked("refusals")  # the store is there
    status, error = post(cloud, path, body)
    assert (status, words in error["message"]) == (code, True), error


def test_a_context_is_no_parent_of_itself(tracked: Any, cloud: Status) -> None:
    tracked("parents")
    names = []
    for _ in range(2):
        _, made = post(cloud, f"{STORE}/contexts", {"displayName": "x"})
        names.append(made["name"])
    above, below = names
    children = {"childContexts": [below]}
    assert post(cloud, f"/v1/{above}:addContextChildren", children) == (200, {})
    code, error = post(cloud, f"/v1/{below}:addContextChildren", {"childContexts": [above]})
    assert (code, "parent of itself" in error["message"]) == (400, True)
    assert post(cloud, f"/v1/{above}:removeContextChildren", children) == (200, {})
    code, _ = post(cloud, f"/v1/{above}:removeContextChildren", children)
    assert code == 400


def test_no_button_leads_to_the_real_console(
    aiplatform: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook would draw it with a font from elsewhere."""
    button = aiplatform.utils._ipython_utils.display_link
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    button("View Experiment", "https://console.cloud.google.com/vertex-ai")
    assert shown == []
    monkeypatch.setenv("LOCAL_CLOUD_TARGET", "cloud")
    button("View Experiment", "https://console.cloud.google.com/vertex-ai")
    assert len(shown) == 1
