"""Pipelines: steps that run as jobs, what they hand on, and what a definition may not say."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, WaiterError

from local_cloud.client.control import Status
from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.pipelines.pipeline_definitions import (
    BUCKET,
    OUT,
    compared,
    condition,
    ended,
    fail,
    get,
    join,
    make,
    parameter,
    processing,
    start,
    steps,
    text,
    training,
)
from tests.amazon.sagemaker.support import IMAGE, ROLE


@pytest.fixture(scope="module")
def client(cloud: Status) -> Any:
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    return boto3.client("sagemaker")


# ---- a pipeline like the lesson's ---------------------------------------------------------------
PREPARES = f"""
import json, sys
open("{OUT}/rows.csv", "w").write("1\\n2\\n3\\n")
report = {{"metrics": {{"accuracy": {{"value": float(sys.argv[1])}}}}}}
open("{OUT}/report.json", "w").write(json.dumps(report))
"""
TRAINS = """
import json
told = json.load(open("/opt/ml/input/config/hyperparameters.json"))
rows = open("/opt/ml/input/data/train/rows.csv").read().split()
open("/opt/ml/model/model.txt", "w").write(f"{told['epochs']} epochs on {len(rows)} rows")
"""
REGISTERS = {
    "Name": "register",
    "Type": "RegisterModel",
    "Arguments": {
        "ModelPackageGroupName": "piped-models",
        "ModelApprovalStatus": get("Parameters.Approval"),
        "InferenceSpecification": {
            "Containers": [
                {"Image": IMAGE, "ModelDataUrl": get("Steps.train.ModelArtifacts.S3ModelArtifacts")}
            ],
            "SupportedContentTypes": ["text/csv"],
            "SupportedResponseMIMETypes": ["text/csv"],
        },
    },
}
REPORT = {"PropertyFileName": "Report", "OutputName": "out", "FilePath": "report.json"}
ACCURACY = {
    "Std:JsonGet": {
        "PropertyFile": get("Steps.prepare.PropertyFiles.Report"),
        "Path": "metrics.accuracy.value",
    }
}
WHOLE = text(
    processing(
        "prepare", PREPARES, join("", get("Parameters.Accuracy")), PropertyFiles=[REPORT],
        CacheConfig={"Enabled": True, "ExpireAfter": "P1D"},
    ),
    training(
        "train", get("Steps.prepare.ProcessingOutputConfig.Outputs['out'].S3Output.S3Uri"),
        TRAINS, {"epochs": get("Parameters.Epochs")},
    ),
    condition(
        "better", [compared("GreaterThanOrEqualTo", ACCURACY, 0.75)], REGISTERS,
        otherwise=[fail("worse", join(" ", "only", ACCURACY))], DependsOn=["train"],
    ),
    parameters=(
        parameter("Epochs", "Integer", 5),
        parameter("Accuracy", "Float", 0.8),
        parameter("Approval", "String", "Approved", EnumValues=["Approved", "Rejected"]),
    ),
)  # fmt: skip


def test_steps_hand_their_results_on_and_the_model_is_registered(client: Any) -> None:
    name = make(client, WHOLE)
    execution = start(client, name, Epochs="7")
    ended(client, execution)
    steps_made = steps(client, execution)
    assert list(steps_made) == ["prepare", "train", "better", "register"]
    assert {step["StepStatus"] for step in steps_made.values()} == {"Succeeded"}
    assert steps_made["better"]["Metadata"] == {"Condition": {"Outcome": "True"}}
    # The parameter, a whole number, is the text that a hyperparameter has to be.
    trained = steps_made["train"]["Metadata"]["TrainingJob"]["Arn"]
    job = client.describe_training_job(TrainingJobName=trained.rpartition("/")[2])
    assert job["HyperParameters"] == {"epochs": "7"}
    # Steps are ordinary jobs, whose tags say where they come from.
    listed = client.list_training_jobs(NameContains=job["TrainingJobName"])
    assert len(listed["TrainingJobSummaries"]) == 1
    tags = client.list_tags(ResourceArn=trained)["Tags"]
    assert {"Key": "sagemaker:pipeline-execution-arn", "Value": execution} in tags
    package = client.describe_model_package(
        ModelPackageName=steps_made["register"]["Metadata"]["RegisterModel"]["Arn"]
    )
    assert package["ModelApprovalStatus"] == "Approved"
    (container,) = package["InferenceSpecification"]["Containers"]
    assert container["ModelDataUrl"] == job["ModelArtifacts"]["S3ModelArtifacts"]
    told = client.list_pipeline_parameters_for_execution(PipelineExecutionArn=execution)
    assert {one["Name"]: one["Value"] for one in told["PipelineParameters"]} == {
        "Epochs": "7", "Accuracy": "0.8", "Approval": "Approved",
    }  # fmt: skip
    (summary,) = client.list_pipeline_executions(PipelineName=name)["PipelineExecutionSummaries"]
    assert summary["PipelineExecutionStatus"] == "Succeeded"


def test_a_fail_step_ends_the_execution_with_its_message(client: Any) -> None:
    execution = start(client, make(client, WHOLE), Accuracy="0.5")
    assert ended(client, execution, "Failed")["FailureReason"] == "only 0.5"
    steps_made = steps(client, execution)
    assert "register" not in steps_made
    assert steps_made["worse"]["Metadata"] == {"Fail": {"ErrorMessage": "only 0.5"}}


# ---- how steps end ------------------------------------------------------------------------------
def test_after_a_failure_nothing_more_begins(client: Any) -> None:
    broken = processing("broken", "raise ValueError('no rows')")
    execution = start(
        client, make(client, text(broken, processing("next", "", DependsOn=["broken"])))
    )
    ended(client, execution, "Failed")
    steps_made = steps(client, execution)
    assert list(steps_made) == ["broken"]
    assert "ValueError: no rows" in steps_made["broken"]["FailureReason"]


def test_a_call_that_is_refused_fails_its_step(client: Any) -> None:
    nowhere = training("train", join("", "s3://", get("Parameters.Bucket"), "/x"), "", {})
    name = make(client, text(nowhere, parameters=(parameter("Bucket", "String"),)))
    execution = start(client, name, Bucket="nobodys")
    ended(client, execution, "Failed")
    reason = steps(client, execution)["train"]["FailureReason"]
    assert reason.startswith("ClientError: Failed to invoke sagemaker:CreateTrainingJob.")
    assert 'No S3 objects found under S3 URL "s3://nobodys/x"' in reason


def test_a_jobs_name_may_come_from_a_parameter_and_has_to_be_a_text(client: Any) -> None:
    named = processing("step", "")
    named["Arguments"]["ProcessingJobName"] = get("Parameters.Name")
    name = make(client, text(named, parameters=(parameter("Name", "String"),)))
    execution = start(client, name, Name="chosen")
    ended(client, execution, "Succeeded")
    made = steps(client, execution)["step"]["Metadata"]["ProcessingJob"]["Arn"]
    assert "/chosen-" in made
    named["Arguments"]["ProcessingJobName"] = get("Parameters.Number")
    number = {"Name": "Number", "Type": "Integer", "DefaultValue": 7}
    execution = start(client, make(client, text(named, parameters=(number,))))
    ended(client, execution, "Failed")
    assert "is 7, not a text" in steps(client, execution)["step"]["FailureReason"]


SLEEPS = "import time; time.sleep(600)"


def test_an_execution_is_stopped_with_its_jobs(client: Any) -> None:
    name = make(client, text(processing("asleep", SLEEPS), processing("other", SLEEPS)))
    execution = start(client, name)
    with pytest.raises(ClientError, match="stop it first"):
        client.delete_pipeline(PipelineName=name)
    while len(steps_made := steps(client, execution)) < 2:
        time.sleep(0.02)
    client.stop_pipeline_execution(PipelineExecutionArn=execution)
    ended(client, execution, "Stopped")
    steps_made = steps(client, execution)
    assert {step["StepStatus"] for step in steps_made.values()} == {"Stopped"}
    for step in steps_made.values():
        job = step["Metadata"]["ProcessingJob"]["Arn"].rpartition("/")[2]
        status = client.describe_processing_job(ProcessingJobName=job)["ProcessingJobStatus"]
        assert status == "Stopped"
    with pytest.raises(ClientError, match="it has ended"):
        client.stop_pipeline_execution(PipelineExecutionArn=execution)
    client.delete_pipeline(PipelineName=name)
    with pytest.raises(ClientError, match="does not exist"):
        client.describe_pipeline_execution(PipelineExecutionArn=execution)


def test_an_execution_keeps_its_definition_and_can_be_renamed(client: Any) -> None:
    before, after = text(condition("a", [])), text(condition("b", []))
    name = make(client, before)
    execution = start(client, name)
    ended(client, execution)
    client.update_pipeline(PipelineName=name, PipelineDefinition=after)
    kept = client.describe_pipeline_definition_for_execution(PipelineExecutionArn=execution)
    assert kept["PipelineDefinition"] == before
    second = start(client, name)
    ended(client, second)
    assert list(steps(client, second)) == ["b"]
    client.update_pipeline_execution(
        PipelineExecutionArn=second, PipelineExecutionDisplayName="the-second"
    )
    listed = client.list_pipeline_executions(PipelineName=name)["PipelineExecutionSummaries"]
    assert [one["PipelineExecutionArn"] for one in listed] == [second, execution]
    assert listed[0]["PipelineExecutionDisplayName"] == "the-second"
    pipeline = client.describe_pipeline(PipelineName=name)
    assert pipeline["LastRunTime"] >= pipeline["LastModifiedTime"] >= pipeline["CreationTime"]


# ---- a server that is killed --------------------------------------------------------------------


# ---- version 3 of the SDK -----------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:Running within a PipelineSession:UserWarning")
def test_the_sdks_own_pipeline_runs_and_is_waited_for(client: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core.processing import ScriptProcessor
        from sagemaker.core.shapes import ProcessingOutput, ProcessingS3Output
        from sagemaker.core.training import configs
        from sagemaker.core.workflow.conditions import ConditionGreaterThan
        from sagemaker.core.workflow.functions import Join, JsonGet
        from sagemaker.core.workflow.parameters import ParameterFloat, ParameterInteger
        from sagemaker.core.workflow.pipeline_context import PipelineSession
        from sagemaker.core.workflow.properties import PropertyFile
        from sagemaker.mlops.workflow.condition_step import ConditionStep
        from sagemaker.mlops.workflow.fail_step import FailStep
        from sagemaker.mlops.workflow.model_step import ModelStep
        from sagemaker.mlops.workflow.pipeline import Pipeline
        from sagemaker.mlops.workflow.steps import ProcessingStep, TrainingStep
        from sagemaker.serve.model_builder import ModelBuilder
        from sagemaker.train import ModelTrainer

    session = PipelineSession(default_bucket=BUCKET)
    epochs, least = ParameterInteger("Epochs", 5), ParameterFloat("Least", 0.75)
    (tmp_path / "prepare.py").write_text(PREPARES)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "task.py").write_text(
        "import os, pathlib, sys\n"
        "pathlib.Path(os.environ['SM_MODEL_DIR'], 'told.txt').write_text(' '.join(sys.argv[1:]))\n"
    )
    common = {"instance_type": "ml.m5.large", "instance_count": 1}
    processor = ScriptProcessor(
        role=ROLE, image_uri=IMAGE, command=["python3"], sagemaker_session=session, **common
    )
    # No URI in S3: the SDK writes one that has the execution's id in it.
    out = ProcessingS3Output(s3_uri="out", local_path=OUT, s3_upload_mode="EndOfJob")
    report = PropertyFile(name="Report", output_name="out", path="report.json")
    prepare = ProcessingStep(
        name="prepare",
        step_args=processor.run(
            code=str(tmp_path / "prepare.py"),
            outputs=[ProcessingOutput(output_name="out", s3_output=out)],
            arguments=["0.8"],
        ),
        property_files=[report],
    )
    trainer = ModelTrainer(
        training_image=IMAGE,
        role=ROLE,
        sagemaker_session=session,
        source_code=configs.SourceCode(source_dir=str(tmp_path / "source"), entry_script="task.py"),
        compute=configs.Compute(**common),
        output_data_config=configs.OutputDataConfig(s3_output_path=f"s3://{BUCKET}/out"),
        hyperparameters={"epochs": epochs},
    )
    rows = prepare.properties.ProcessingOutputConfig.Outputs["out"].S3Output.S3Uri
    data = [configs.InputData(channel_name="train", data_source=rows)]
    train = TrainingStep(name="train", step_args=trainer.train(input_data_config=data))
    model = ModelBuilder(
        s3_model_data_url=train.properties.ModelArtifacts.S3ModelArtifacts,
        image_uri=serving.IMAGE,
        role_arn=ROLE,
        sagemaker_session=session,
        dependencies={"auto": False},
        log_level=30,
    )
    register = ModelStep(
        name="register",
        step_args=model.register(
            model_package_group_name="by-sdk",
            content_types=["text/csv"],
            response_types=["text/csv"],
            approval_status="Approved",
        ),
    )
    accuracy = JsonGet(
        step_name="prepare", property_file=report, json_path="metrics.accuracy.value"
    )
    worse = FailStep(name="worse", error_message=Join(on=" ", values=["only", accuracy]))
    better = ConditionStep(
        name="better",
        conditions=[ConditionGreaterThan(left=accuracy, right=least)],
        if_steps=[register],
        else_steps=[worse],
        depends_on=[train],
    )
    name = serving.named("pipeline")
    pipeline = Pipeline(
        name=name,
        parameters=[epochs, least],
        steps=[prepare, train, better],
        sagemaker_session=session,
    )
    pipeline.upsert(role_arn=ROLE)
    pipeline.upsert(role_arn=ROLE)  # the second time it is an update
    execution = pipeline.start(parameters={"Epochs": 3})
    execution.wait()
    order = [step["StepName"] for step in execution.list_steps()]
    assert order == ["register", "better", "train", "prepare"]
    (package,) = client.list_model_packages(ModelPackageGroupName="by-sdk")[
        "ModelPackageSummaryList"
    ]
    assert package["ModelApprovalStatus"] == "Approved"
    failed = pipeline.start(parameters={"Least": 0.9})
    with pytest.raises(WaiterError):
        failed.wait()
    assert failed.describe()["FailureReason"] == "only 0.8"
