"""AutoML of tables, driven by the real SDK: from a dataset to predictions that are explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import storage

import local_cloud
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
