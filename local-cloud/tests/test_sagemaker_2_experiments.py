"""Version 2 of the SageMaker SDK records runs of experiments and reads lineage here unchanged."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from local_cloud.client.control import Status
from testing.other_environments import run_sagemaker_2

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cloud")]

BUCKET = "experiments-of-version-2"
SCRIPT = """
import pathlib
for loss in (0.5, 0.25, 0.75):
    print(f"loss = {loss};")
pathlib.Path("/opt/ml/model/weights").write_text("w")
"""
# Three runs, the last with a training job in it; what the SDK's own reports then say.
CODE = f"""
import json, local_cloud
local_cloud.activate()
import sagemaker
from sagemaker.analytics import ExperimentAnalytics
from sagemaker.experiments import Run, list_runs
from sagemaker.lineage.artifact import ModelArtifact
from sagemaker.lineage.visualizer import LineageTableVisualizer
from sagemaker.pytorch import PyTorch

session = sagemaker.Session(default_bucket="{BUCKET}")
more = dict(experiment_name="Rates", sagemaker_session=session)
for rate in (0.1, 0.01):
    with Run(run_name=f"rate-{{rate}}".replace(".", "-"), **more) as run:
        run.log_parameter("rate", rate)
        for step, accuracy in enumerate((0.5, 1 - rate)):
            run.log_metric("accuracy", accuracy, step=step)
with Run(run_name="job", **more) as run:
    estimator = PyTorch(
        entry_point="task.py", role=sagemaker.get_execution_role(), framework_version="2.5.1",
        py_version="py311", instance_count=1, instance_type="ml.m5.xlarge",
        sagemaker_session=session, hyperparameters={{"epochs": 3}},
        metric_definitions=[{{"Name": "loss", "Regex": "loss = (.*?);"}}],
    )
    estimator.fit()
job = estimator.latest_training_job.name
analytics = ExperimentAnalytics(
    experiment_name="rates", sagemaker_session=session, sort_by="metrics.accuracy.last",
    search_expression={{"Filters": [{{"Name": "Parameters.rate", "Operator": "LessThan",
                                     "Value": "1"}}]}},
)
of_job = ExperimentAnalytics(
    sagemaker_session=session, metric_names=["loss"], parameter_names=["epochs"],
    search_expression={{"Filters": [{{"Name": "TrialComponentName", "Operator": "Equals",
                                     "Value": job + "-aws-training-job"}}]}},
)
client = session.sagemaker_client
(found,) = client.list_artifacts(SourceUri=estimator.model_data)["ArtifactSummaries"]
model = ModelArtifact.load(found["ArtifactArn"], sagemaker_session=session)
table = LineageTableVisualizer(session).show(training_job_name=job)
print("\\nFACTS", json.dumps({{
    "runs": sorted(run.run_name for run in list_runs("rates", sagemaker_session=session)),
    "best": analytics.dataframe().to_dict("records"),
    "job": of_job.dataframe().to_dict("records"),
    "config": estimator.latest_training_job.describe()["ExperimentConfig"],
    "jobs of the model": [arn.rpartition("/")[2] for arn in model.training_job_arns()] == [job],
    "lineage": sorted(table[["Direction", "Type", "Association Type"]].values.tolist()),
}}))
"""


@pytest.fixture(scope="module")
def told(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the code told."""
    folder = tmp_path_factory.mktemp("version 2 experiments")
    (folder / "task.py").write_text(SCRIPT)
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    (line,) = [
        line for line in run_sagemaker_2(CODE, folder).splitlines() if line.startswith("FACTS ")
    ]
    content: dict[str, Any] = json.loads(line.removeprefix("FACTS "))
    return content


def test_runs_are_listed_and_compared(told: dict[str, Any]) -> None:
    assert told["runs"] == ["job", "rate-0-01", "rate-0-1"]
    best, other = told["best"]
    assert best["TrialComponentName"] == "rates-rate-0-01"
    assert (best["rate"], other["rate"]) == (0.01, 0.1)
    assert (best["accuracy - Max"], best["accuracy - Count"]) == (0.99, 2)
    assert best["Experiments"] == ["rates"]


def test_a_job_in_a_run_is_part_of_its_trial(told: dict[str, Any]) -> None:
    assert told["config"] == {
        "ExperimentName": "rates",
        "TrialName": "Default-Run-Group-rates",
        "RunName": "rates-job",
    }
    (job,) = told["job"]
    assert (job["epochs"], job["loss - Min"], job["loss - Last"]) == (3.0, 0.25, 0.75)
    assert job["Trials"] == ["Default-Run-Group-rates"]


def test_the_lineage_of_the_job(told: dict[str, Any]) -> None:
    assert told["jobs of the model"]
    assert told["lineage"] == [
        ["Input", "Image", "ContributedTo"],
        ["Output", "Model", "Produced"],
    ]
