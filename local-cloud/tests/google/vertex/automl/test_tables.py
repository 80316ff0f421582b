"""AutoML of tables, driven by the real SDK: from a dataset to predictions that are explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import bigquery, storage

import local_cloud
from local_cloud.client.control import Status
from tests.automl.tables import rides
from tests.google.vertex.support import BUCKET

RIDE = {"distance": "4.0", "hour": "7", "district": "north"}
SETTINGS = {"budget_milli_node_hours": 1000, "validation_fraction_split": 0.0}
SETTINGS |= {"training_fraction_split": 0.8, "test_fraction_split": 0.2}


@pytest.fixture(scope="module")
def dataset(aiplatform: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = rides(tmp_path_factory.mktemp("rides") / "rides.csv", 160)
    storage.Client().bucket(BUCKET).blob("automl/rides.csv").upload_from_filename(path)
    made = aiplatform.TabularDataset.create("rides", gcs_source=f"gs://{BUCKET}/automl/rides.csv")
    yield made
    made.delete()


@pytest.fixture(scope="module")
def payment(aiplatform: ModuleType, dataset: Any) -> Iterator[Any]:
    """A model of classes, with the columns that the SDK finds."""
    job = aiplatform.AutoMLTabularTrainingJob(
        "payment",
        optimization_prediction_type="classification",
        optimization_objective="minimize-log-loss",
        column_specs={"distance": "numeric", "hour": "auto", "district": "categorical"},
    )
    model = job.run(dataset, "paid", model_display_name="payment", **SETTINGS)
    assert job.state.name == "PIPELINE_STATE_SUCCEEDED"
    yield model
    model.delete()


@pytest.fixture(scope="module")
def endpoint(payment: Any) -> Iterator[Any]:
    made = payment.deploy(machine_type="n1-standard-4")
    yield made
    made.delete(force=True)


def test_its_node_is_on_the_bill(payment: Any) -> None:
    bill = local_cloud.bill()
    (row,) = [row for row in bill.rows if row.what.startswith("AutoML table training")][-1:]
    assert row.on == "1 × a node of AutoML" and row.unit_price == 21.252
    assert row.dollars == pytest.approx(row.quantity * 21.252)


def test_a_model_has_its_evaluation_on_the_rows_that_were_held_back(payment: Any) -> None:
    (listed,) = payment.list_model_evaluations()
    evaluation = payment.get_model_evaluation(listed.name).metrics
    assert evaluation["auRoc"] > 0.8 and evaluation["auPrc"] > 0.8 and evaluation["logLoss"] < 0.6
    matrix = evaluation["confusionMatrix"]
    assert [spec["displayName"] for spec in matrix["annotationSpecs"]] == ["card", "cash"]
    assert sum(map(sum, matrix["rows"])) == 32
    means = dict(listed.gca_resource.model_explanation.mean_attributions[0].feature_attributions)
    assert means.keys() == RIDE.keys() and max(means, key=means.__getitem__) == "distance"
    half = next(row for row in evaluation["confidenceMetrics"] if row["confidenceThreshold"] == 0.5)
    assert half["truePositiveCount"] + half["falseNegativeCount"] == 32


def test_classes_are_predicted_with_scores(endpoint: Any) -> None:
    (near, far) = endpoint.predict([RIDE, RIDE | {"distance": 9.5}]).predictions
    assert near["classes"] == far["classes"] == ["card", "cash"]
    assert sum(near["scores"]) == pytest.approx(1)
    assert near["scores"][1] > 0.5 > far["scores"][1]
    with pytest.raises(exceptions.BadRequest, match="column 'hour': 'noon' is not a number"):
        endpoint.predict([RIDE | {"hour": "noon"}])


def test_attributions_sum_to_what_the_prediction_differs_by_from_the_baseline(
    endpoint: Any,
) -> None:
    answer = endpoint.explain([RIDE])
    (attribution,) = answer.explanations[0].attributions
    attributions = dict(attribution.feature_attributions)
    assert attributions.keys() == RIDE.keys()
    apart = attribution.instance_output_value - attribution.baseline_output_value
    assert sum(attributions.values()) == pytest.approx(apart, abs=1e-3)
    prediction = answer.predictions[0]
    place = prediction["classes"].index(attribution.output_display_name)
    assert prediction["scores"][place] == pytest.approx(attribution.instance_output_value)


def test_a_file_is_scored(payment: Any) -> None:
    bucket = storage.Client().bucket(BUCKET)
    bucket.blob("automl/some.jsonl").upload_from_string(f"{json.dumps(RIDE)}\n" * 3)
    job = payment.batch_predict(
        "payments",
        gcs_source=f"gs://{BUCKET}/automl/some.jsonl",
        gcs_destination_prefix=f"gs://{BUCKET}/automl/scored",
        machine_type="n1-standard-4",
    )
    assert job.completion_stats.successful_count == 3


def test_a_value_is_predicted_with_its_interval_and_a_deleted_model_leaves_no_files(
    aiplatform: ModuleType, dataset: Any, cloud: Status
) -> None:
    models = cloud.home.data / "automl-models"
    before = {*models.glob("*")}
    job = aiplatform.AutoMLTabularTrainingJob("fare", optimization_prediction_type="regression")
    model = job.run(dataset, "fare", **SETTINGS)
    (folder,) = {*models.glob("*")} - before
    assert (folder / "model/model.joblib").exists()
    evaluation = model.get_model_evaluation().metrics
    assert evaluation["rSquared"] > 0.8 and evaluation["rootMeanSquaredError"] < 3
    made = model.deploy(machine_type="n1-standard-4")
    (value,) = made.predict([RIDE]).predictions
    assert value["lower_bound"] < value["value"] < value["upper_bound"]
    assert value["value"] == pytest.approx(15, abs=2)
    (explained,) = made.explain([RIDE]).explanations[0].attributions
    apart = explained.instance_output_value - explained.baseline_output_value
    assert sum(dict(explained.feature_attributions).values()) == pytest.approx(apart, abs=1e-3)
    with pytest.raises(ValueError, match="is not exportable"):
        model.export_model("tf-saved-model", artifact_destination=f"gs://{BUCKET}/exported")
    made.delete(force=True)
    model.delete()
    assert {*models.glob("*")} == before
    again = aiplatform.AutoMLTabularTrainingJob.get(job.resource_name)
    assert again.state.name == "PIPELINE_STATE_SUCCEEDED"
    job.delete()
    with pytest.raises(exceptions.NotFound):
        aiplatform.AutoMLTabularTrainingJob.get(job.resource_name)


def test_a_table_of_bigquery_is_trained_on(aiplatform: ModuleType, tmp_path: Path) -> None:
    client = bigquery.Client()
    client.create_dataset("rides", exists_ok=True)
    config = bigquery.LoadJobConfig(source_format="CSV", skip_leading_rows=1, autodetect=True)
    with rides(tmp_path / "rides.csv", 160).open("rb") as file:
        client.load_table_from_file(file, "rides.paid", job_config=config).result()
    uri = f"bq://{client.project}.rides.paid"
    made = aiplatform.TabularDataset.create("rides", bq_source=uri)
    assert {"distance", "district", "paid"} <= set(made.column_names)
    settings = {"optimization_prediction_type": "classification"}
    job = aiplatform.AutoMLTabularTrainingJob("payment", **settings)
    model = job.run(made, "paid", **SETTINGS)
    assert model.get_model_evaluation().metrics["auRoc"] > 0.8
    client.delete_table("rides.paid")
    gone = aiplatform.AutoMLTabularTrainingJob(
        "gone", column_specs={"distance": "numeric"}, **settings
    )
    with pytest.raises(RuntimeError, match=r"Not found: Table .*rides\.paid"):
        gone.run(made, "paid", **SETTINGS)
    client.delete_dataset("rides")
    client.close()
    made.delete()
    model.delete()


def test_a_search_can_be_cancelled(aiplatform: ModuleType, dataset: Any) -> None:
    job = aiplatform.AutoMLTabularTrainingJob(
        "long", optimization_prediction_type="regression", column_specs={"distance": "auto"}
    )
    settings = SETTINGS | {"budget_milli_node_hours": 72_000, "disable_early_stopping": True}
    job.run(dataset, "fare", sync=False, **settings)
    job.wait_for_resource_creation()
    job.cancel()
    with pytest.raises(RuntimeError, match="CANCELED"):
        job.wait()
    assert job.state.name == "PIPELINE_STATE_CANCELLED"


def test_what_is_not_here_or_wrong_is_refused_by_name(aiplatform: ModuleType, dataset: Any) -> None:
    def run(column: str = "fare", kinds: Any = None, target: str = "paid", **more: Any) -> Any:
        job = aiplatform.AutoMLTabularTrainingJob(
            "wrong",
            optimization_prediction_type=more.pop("kind", "classification"),
            optimization_objective=more.pop("objective", None),
            column_specs={column: kinds or "auto"},
            **{name: more.pop(name) for name in list(more) if name.startswith("optimization")},
        )
        return job.run(dataset, target, **more)

    missing = exceptions.MethodNotImplemented
    with pytest.raises(missing, match=r"a weight column"):
        run(weight_column="hour")
    with pytest.raises(missing, match=r"the transformation text of column 'remark'"):
        run("remark", "text")
    with pytest.raises(missing, match=r"maximize-precision-at-recall"):
        run(
            objective="maximize-precision-at-recall",
            optimization_objective_recall_value=0.5,
        )
    with pytest.raises(exceptions.BadRequest, match="give 1000 to 72000"):
        run(budget_milli_node_hours=10)
    with pytest.raises(RuntimeError, match="there is no column"):
        run(target="price")
    with pytest.raises(RuntimeError, match="one row; 2 are needed"):
        run(target="remark")
