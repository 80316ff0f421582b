"""Version 2 of the SageMaker SDK: a processing job and a pipeline, in an environment of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import pytest

from local_cloud.client.control import Status
from testing.other_environments import run_sagemaker_2
from tests.test_sagemaker_2 import facts

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cloud")]

BUCKET = "version-2-pipelines"
PREPARES = """
import json, pathlib, sys
out = pathlib.Path("/opt/ml/processing/out")
rows = pathlib.Path("/opt/ml/processing/rows/rows.csv").read_text().split()
(out / "report.json").write_text(json.dumps({"rows": {"value": len(rows)}, "told": sys.argv[1:]}))
print(len(rows), "rows")
"""
TRAINS = """
import argparse, json, os, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
told, _ = parser.parse_known_args()
report = json.loads(pathlib.Path(os.environ["SM_CHANNEL_TRAIN"], "report.json").read_text())
pathlib.Path(os.environ["SM_MODEL_DIR"], "model.txt").write_text(f"{told.epochs} {report}")
"""
CODE = f"""
import json, logging, local_cloud
local_cloud.activate()
import sagemaker
from sagemaker.inputs import TrainingInput
from sagemaker.model import Model
from sagemaker.processing import ProcessingInput, ProcessingOutput
from sagemaker.pytorch import PyTorch
from sagemaker.sklearn.processing import SKLearnProcessor
from sagemaker.workflow.condition_step import ConditionStep
from sagemaker.workflow.conditions import ConditionGreaterThanOrEqualTo
from sagemaker.workflow.fail_step import FailStep
from sagemaker.workflow.functions import JsonGet
from sagemaker.workflow.model_step import ModelStep
from sagemaker.workflow.parameters import ParameterInteger
from sagemaker.workflow.pipeline import Pipeline
from sagemaker.workflow.pipeline_context import PipelineSession
from sagemaker.workflow.properties import PropertyFile
from sagemaker.workflow.steps import ProcessingStep, TrainingStep
role = sagemaker.get_execution_role()

def tell(**facts):
    print("\\nFACTS", json.dumps(facts, default=str))

def processor(session):
    return SKLearnProcessor(framework_version="1.2-1", role=role, instance_type="ml.m5.large",
                            instance_count=1, sagemaker_session=session)

def arguments(**more):
    return dict(code="prepare.py", arguments=["--share", "0.5"],
                inputs=[ProcessingInput("rows.csv", "/opt/ml/processing/rows", input_name="rows")],
                outputs=[ProcessingOutput(output_name="out", source="/opt/ml/processing/out",
                                          **more)])

alone = processor(sagemaker.Session(default_bucket="{BUCKET}"))
alone.run(**arguments(destination="s3://{BUCKET}/alone"))
tell(alone=alone.latest_job.describe())

session = PipelineSession(default_bucket="{BUCKET}")
epochs, least = ParameterInteger("Epochs", 5), ParameterInteger("Least", 3)
report = PropertyFile(name="Report", output_name="out", path="report.json")
prepare = ProcessingStep("prepare", step_args=processor(session).run(**arguments()),
                         property_files=[report])
estimator = PyTorch(entry_point="trains.py", role=role, framework_version="2.5.1",
                    py_version="py311", instance_type="ml.m5.large", instance_count=1,
                    sagemaker_session=session, hyperparameters={{"epochs": epochs}})
data = prepare.properties.ProcessingOutputConfig.Outputs["out"].S3Output.S3Uri
train = TrainingStep("train", step_args=estimator.fit({{"train": TrainingInput(data)}}))
model = Model(image_uri=estimator.training_image_uri(), role=role, sagemaker_session=session,
              model_data=train.properties.ModelArtifacts.S3ModelArtifacts)
register = ModelStep("register", step_args=model.register(
    content_types=["text/csv"], response_types=["text/csv"], approval_status="Approved",
    model_package_group_name="version-2-piped"))
rows = JsonGet(step_name="prepare", property_file=report, json_path="rows.value")
enough = ConditionStep("enough", conditions=[ConditionGreaterThanOrEqualTo(rows, least)],
                       if_steps=[register], else_steps=[FailStep("few", "too few rows")],
                       depends_on=[train])
pipeline = Pipeline("version-2", parameters=[epochs, least], steps=[prepare, train, enough],
                    sagemaker_session=session)
pipeline.upsert(role_arn=role)
execution = pipeline.start(parameters={{"Epochs": 7}})
execution.wait()
tell(steps=execution.list_steps(), execution=execution.describe())
failed = pipeline.start(parameters={{"Least": 4}})
try:
    failed.wait()
except Exception as problem:
    tell(failed=failed.describe(), problem=type(problem).__name__)
"""


@pytest.fixture(scope="module")
def told(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("pipelines")
    (folder / "prepare.py").write_text(PREPARES)
    (folder / "trains.py").write_text(TRAINS)
    (folder / "rows.csv").write_text("1\n2\n3\n")
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    printed = run_sagemaker_2(CODE, folder)
    return {"printed": printed, **facts(printed)}


def test_a_processor_runs_a_script_and_prints_its_log(told: dict[str, Any]) -> None:
    assert told["alone"]["ProcessingJobStatus"] == "Completed"
    assert "3 rows" in told["printed"]


def test_a_pipeline_runs_and_its_model_is_registered(told: dict[str, Any]) -> None:
    assert told["execution"]["PipelineExecutionStatus"] == "Succeeded"
    steps = {step["StepName"]: step for step in told["steps"]}
    assert {step["StepStatus"] for step in steps.values()} == {"Succeeded"}
    (name,) = [name for name in steps if "register" in name]
    package = boto3.client("sagemaker").describe_model_package(
        ModelPackageName=steps[name]["Metadata"]["RegisterModel"]["Arn"]
    )
    assert package["ModelApprovalStatus"] == "Approved"
    trained = steps["train"]["Metadata"]["TrainingJob"]["Arn"].rpartition("/")[2]
    job = boto3.client("sagemaker").describe_training_job(TrainingJobName=trained)
    assert job["HyperParameters"]["epochs"].strip('"') == "7"


def test_a_fail_step_says_why(told: dict[str, Any]) -> None:
    assert told["problem"] == "WaiterError"
    assert told["failed"]["FailureReason"] == "too few rows"
