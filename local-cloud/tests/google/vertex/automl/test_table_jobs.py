"""AutoML of tables: regression, tables of BigQuery, and what is cancelled or refused."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import bigquery

from local_cloud.client.control import Status
from tests.automl.tables import rides
from tests.google.vertex.automl.test_tables import RIDE, SETTINGS
from tests.google.vertex.automl.test_tables import dataset as dataset
from tests.google.vertex.support import BUCKET


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
