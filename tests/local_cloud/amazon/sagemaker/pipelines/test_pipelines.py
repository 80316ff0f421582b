"""Pipelines: steps that run as jobs, what they hand on, and what a definition may not say."""

from __future__ import annotations

import json
import os
import signal
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, WaiterError

from local_cloud.client import control
from local_cloud.client.control import Status
from local_cloud.client.environment import environment
from local_cloud.client.home import Home
from tests.local_cloud.amazon.sagemaker import serving
from tests.local_cloud.amazon.sagemaker.conftest import Shared
from tests.local_cloud.amazon.sagemaker.support import IMAGE, ROLE, Json, Refusal

BUCKET = "piped"
CLUSTER = {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 30}
OUT = "/opt/ml/processing/out"
TOKEN = "t" * 32


def get(reference: str) -> Json:
    return {"Get": reference}


def join(on: str, *values: Any) -> Json:
    return {"Std:Join": {"On": on, "Values": list(values)}}


def processing(name: str, script: str, *arguments: Any, **more: Any) -> Json:
    """A step that runs this Python script, and keeps what it leaves in OUT."""
    folder = join("/", f"s3://{BUCKET}", get("Execution.PipelineExecutionId"), name)
    uploaded = {"S3Uri": folder, "LocalPath": OUT, "S3UploadMode": "EndOfJob"}
    return {
        "Name": name,
        "Type": "Processing",
        "Arguments": {
            "RoleArn": ROLE,
            "ProcessingResources": {"ClusterConfig": CLUSTER},
            "AppSpecification": {
                "ImageUri": IMAGE,
                "ContainerEntrypoint": ["python3", "-c", script, *arguments],
            },
            "ProcessingOutputConfig": {
                "Outputs": [{"OutputName": "out", "S3Output": uploaded}],
            },
        },
    } | more


def training(name: str, data: Any, script: str, hyperparameters: Json) -> Json:
    """A step that trains with this Python script, on the channel `train`."""
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": data}}
    return {
        "Name": name,
        "Type": "Training",
        "Arguments": {
            "RoleArn": ROLE,
            "AlgorithmSpecification": {
                "TrainingImage": IMAGE,
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["python3", "-c", script],
            },
            "HyperParameters": hyperparameters,
            "InputDataConfig": [{"ChannelName": "train", "DataSource": source}],
            "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
            "ResourceConfig": CLUSTER,
            "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        },
    }


def condition(
    name: str, conditions: list[Json], *yes: Json, otherwise: Any = (), **more: Any
) -> Json:
    arguments = {"Conditions": conditions, "IfSteps": list(yes), "ElseSteps": list(otherwise)}
    return {"Name": name, "Type": "Condition", "Arguments": arguments} | more


def compared(kind: str, left: Any, right: Any) -> Json:
    return {"Type": kind, "LeftValue": left, "RightValue": right}


def fail(name: str, message: Any) -> Json:
    return {"Name": name, "Type": "Fail", "Arguments": {"ErrorMessage": message}}


def parameter(name: str, kind: str, default: Any = None, **more: Any) -> Json:
    return (
        {"Name": name, "Type": kind} | ({} if default is None else {"DefaultValue": default}) | more
    )


def text(*steps: Json, parameters: tuple[Json, ...] = ()) -> str:
    return json.dumps({"Version": "2020-12-01", "Parameters": parameters, "Steps": steps})


@pytest.fixture(scope="module")
def client(cloud: Status) -> Any:
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    return boto3.client("sagemaker")


def make(client: Any, definition: str, **more: Any) -> str:
    """Make a pipeline with a new name; returns that."""
    name = serving.named("pipeline")
    client.create_pipeline(PipelineName=name, PipelineDefinition=definition, RoleArn=ROLE, **more)
    return name


def start(client: Any, name: str, **parameters: str) -> str:
    """Start an execution; returns its ARN."""
    values = [{"Name": key, "Value": value} for key, value in parameters.items()]
    found = client.start_pipeline_execution(PipelineName=name, PipelineParameters=values)
    return str(found["PipelineExecutionArn"])


def ended(client: Any, execution: str, status: str = "Succeeded") -> Json:
    """The execution's description when it has ended."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found: Json = client.describe_pipeline_execution(PipelineExecutionArn=execution)
        if found["PipelineExecutionStatus"] not in ("Executing", "Stopping"):
            assert found["PipelineExecutionStatus"] == status, steps(client, execution)
            return found
        time.sleep(0.02)
    raise AssertionError(steps(client, execution))


def steps(client: Any, execution: str) -> dict[str, Json]:
    """The steps of an execution, by name, in the order in which they began."""
    found = client.list_pipeline_execution_steps(
        PipelineExecutionArn=execution, SortOrder="Ascending"
    )
    return {step["StepName"]: step for step in found["PipelineExecutionSteps"]}


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
    found = steps(client, execution)
    assert list(found) == ["prepare", "train", "better", "register"]
    assert {step["StepStatus"] for step in found.values()} == {"Succeeded"}
    assert found["better"]["Metadata"] == {"Condition": {"Outcome": "True"}}
    # The parameter, a whole number, is the text that a hyperparameter has to be.
    trained = found["train"]["Metadata"]["TrainingJob"]["Arn"]
    job = client.describe_training_job(TrainingJobName=trained.rpartition("/")[2])
    assert job["HyperParameters"] == {"epochs": "7"}
    # Steps are ordinary jobs, whose tags say where they come from.
    listed = client.list_training_jobs(NameContains=job["TrainingJobName"])
    assert len(listed["TrainingJobSummaries"]) == 1
    tags = client.list_tags(ResourceArn=trained)["Tags"]
    assert {"Key": "sagemaker:pipeline-execution-arn", "Value": execution} in tags
    package = client.describe_model_package(
        ModelPackageName=found["register"]["Metadata"]["RegisterModel"]["Arn"]
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


def test_a_result_is_used_again_by_the_same_arguments_alone(client: Any) -> None:
    name = make(client, WHOLE)
    first = start(client, name)
    ended(client, first)
    again, other = start(client, name, Epochs="6"), start(client, name, Accuracy="0.9")
    ended(client, again)
    ended(client, other)
    source, used = (steps(client, one)["prepare"] for one in (first, again))
    assert used["CacheHitResult"] == {"SourcePipelineExecutionArn": first}
    assert used["Metadata"] == source["Metadata"]
    assert "CacheHitResult" not in steps(client, other)["prepare"]
    assert "CacheHitResult" not in steps(client, again)["train"]  # it does not ask for it


def test_a_fail_step_ends_the_execution_with_its_message(client: Any) -> None:
    execution = start(client, make(client, WHOLE), Accuracy="0.5")
    assert ended(client, execution, "Failed")["FailureReason"] == "only 0.5"
    found = steps(client, execution)
    assert "register" not in found
    assert found["worse"]["Metadata"] == {"Fail": {"ErrorMessage": "only 0.5"}}


# ---- conditions ---------------------------------------------------------------------------------
TWO = get("Parameters.Two")
CONDITIONS: dict[str, tuple[bool, list[Json]]] = {
    "none": (True, []),
    "equals": (True, [compared("Equals", TWO, 2.0)]),
    "text": (False, [compared("Equals", TWO, "2")]),
    "not-a-number": (False, [compared("Equals", get("Parameters.Yes"), 1)]),
    "more": (False, [compared("GreaterThan", TWO, 2)]),
    "less": (True, [compared("LessThan", "a", "b")]),
    "at-most": (True, [compared("LessThanOrEqualTo", TWO, 2)]),
    "all": (False, [compared("Equals", TWO, 2), compared("Equals", TWO, 3)]),
    "or": (
        True,
        [{"Type": "Or", "Conditions": [compared("Equals", TWO, 2), compared("Equals", TWO, 3)]}],
    ),
    "not": (False, [{"Type": "Not", "Condition": compared("Equals", TWO, 2)}]),
    "in": (True, [{"Type": "In", "QueryValue": TWO, "Values": [1, TWO]}]),
    "name": (
        True, [compared("Equals", get("Execution.PipelineName"), get("Parameters.Name"))],
    ),
}  # fmt: skip


def test_conditions(client: Any) -> None:
    made = [condition(name, conditions) for name, (_, conditions) in CONDITIONS.items()]
    declared = (
        parameter("Two", "Integer", 2), parameter("Yes", "Boolean", True),
        parameter("Name", "String"),
    )  # fmt: skip
    name = make(client, text(*made, parameters=declared))
    execution = start(client, name, Name=name)
    ended(client, execution)
    found = {
        name: step["Metadata"]["Condition"]["Outcome"] == "True"
        for name, step in steps(client, execution).items()
    }
    assert found == {name: outcome for name, (outcome, _) in CONDITIONS.items()}


def test_what_cannot_be_compared_fails_the_step(client: Any) -> None:
    wrong = text(condition("wrong", [compared("LessThan", "1", 2)]))
    execution = start(client, make(client, wrong))
    assert ended(client, execution, "Failed")["FailureReason"].startswith("Step failure")
    assert "'1' and 2 cannot be compared" in steps(client, execution)["wrong"]["FailureReason"]


# ---- how steps end ------------------------------------------------------------------------------
def test_after_a_failure_nothing_more_begins(client: Any) -> None:
    broken = processing("broken", "raise ValueError('no rows')")
    execution = start(
        client, make(client, text(broken, processing("next", "", DependsOn=["broken"])))
    )
    ended(client, execution, "Failed")
    found = steps(client, execution)
    assert list(found) == ["broken"]
    assert "ValueError: no rows" in found["broken"]["FailureReason"]


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
    while len(found := steps(client, execution)) < 2:
        time.sleep(0.02)
    client.stop_pipeline_execution(PipelineExecutionArn=execution)
    ended(client, execution, "Stopped")
    found = steps(client, execution)
    assert {step["StepStatus"] for step in found.values()} == {"Stopped"}
    for step in found.values():
        job = step["Metadata"]["ProcessingJob"]["Arn"].rpartition("/")[2]
        status = client.describe_processing_job(ProcessingJobName=job)["ProcessingJobStatus"]
        assert status == "Stopped"
    with pytest.raises(ClientError, match="it has ended"):
        client.stop_pipeline_execution(PipelineExecutionArn=execution)
    client.delete_pipeline(PipelineName=name)
    with pytest.raises(ClientError, match="does not exist"):
        client.describe_pipeline_execution(PipelineExecutionArn=execution)


def test_as_many_steps_run_as_are_allowed(client: Any) -> None:
    made = text(*(processing(name, "") for name in ("a", "b", "c")))
    name = make(client, made, ParallelismConfiguration={"MaxParallelExecutionSteps": 1})
    execution = start(client, name)
    ended(client, execution)
    one, two, three = steps(client, execution).values()
    assert one["EndTime"] <= two["StartTime"] and two["EndTime"] <= three["StartTime"]


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
    found = client.describe_pipeline(PipelineName=name)
    assert found["LastRunTime"] >= found["LastModifiedTime"] >= found["CreationTime"]


# ---- a server that is killed --------------------------------------------------------------------
@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home")
    control.start(home)
    yield home
    control.stop(home)


def clients(home: Home) -> Mapping[str, Any]:
    """boto3's clients of the local cloud in this home."""
    variables = environment(home, int(home.address()["port"]))
    known = {
        "endpoint_url": variables["AWS_ENDPOINT_URL"],
        "aws_access_key_id": variables["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": variables["AWS_SECRET_ACCESS_KEY"],
        "region_name": "us-east-1",
    }
    return {name: boto3.client(name, **known) for name in ("s3", "sagemaker")}


def test_after_a_kill_the_execution_goes_on_and_repeats_no_finished_step(own: Home) -> None:
    """The step that ran when the server was killed is sent again; the one before is not."""
    flag = own.folder / "go"
    waits = f"import os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.02)"
    made = text(processing("first", ""), processing("second", waits, DependsOn=["first"]))
    here = clients(own)
    here["s3"].create_bucket(Bucket=BUCKET)
    execution = start(here["sagemaker"], make(here["sagemaker"], made))
    while "second" not in (before := steps(here["sagemaker"], execution)):
        time.sleep(0.02)
    os.kill(int(own.address()["pid"]), signal.SIGKILL)
    flag.touch()
    control.start(own)
    client = clients(own)["sagemaker"]
    ended(client, execution)
    after = steps(client, execution)
    assert after["first"] == before["first"] | {
        key: after["first"][key] for key in ("StepStatus", "EndTime")
    }
    assert (after["first"]["AttemptCount"], after["second"]["AttemptCount"]) == (1, 2)
    listed = client.list_processing_jobs()["ProcessingJobSummaries"]
    assert sorted(job["ProcessingJobStatus"] for job in listed) == [
        "Completed", "Completed", "Failed",
    ]  # fmt: skip


# ---- what is refused ----------------------------------------------------------------------------
A = processing("a", "")


def create(shared: Shared, definition: str) -> Json:
    return shared(
        "CreatePipeline",
        PipelineName="refused",
        PipelineDefinition=definition,
        RoleArn=ROLE,
        ClientRequestToken=TOKEN,
    )


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ("{", "PipelineDefinition is not JSON"),
        ("[]", '"Version" must be "2020-12-01"'),
        (text(), "a pipeline needs a step"),
        (text(A, A), "two are called a"),
        (text(A | {"Name": "a b"}), "'a b' cannot name a step"),
        (text(A | {"Type": "Lambda"}), "pipeline steps of type Lambda"),
        (text(A | {"Loop": 1}), "not implemented in the local cloud: step a: Loop"),
        (text(A | {"DependsOn": ["b"]}), "there is no step b in this pipeline"),
        (text(A | {"DependsOn": [{"Step": "b"}]}), "DependsOn with a status of the other step"),
        (text(A | {"DependsOn": ["a"]}), "Steps wait for each other: a -> a"),
        (text(A | {"CacheConfig": {"Enabled": True, "ExpireAfter": "soon"}}), "like P30D"),
        (text(processing("a", "", get("Parameters.X"))), "Parameters.X is not among"),
        (text(processing("a", "", get("Execution.X"))), "is not an execution variable"),
        (text(processing("a", "", get("Steps.b.X"))), "there is no step b"),
        (text(processing("a", "", {"Std:Sum": []})), "Std:Sum: not implemented"),
        (text(condition("a", [compared("Near", 1, 2)])), "'Near' is not a type of condition"),
        (text(A, parameters=(parameter("x", "Integer", True),)), "True is not of type Integer"),
        (text(A, parameters=(parameter("x", "Date"),)), "'Date' is not one of String"),
        (
            text(A, parameters=(parameter("x", "String", "c", EnumValues=["a", "b"]),)),
            "'c' is not one of a, b",
        ),
    ],
)
def test_a_definition_that_cannot_run_is_refused(
    shared: Shared, definition: str, said: str
) -> None:
    with pytest.raises(Refusal) as refused:
        create(shared, definition)
    assert said in str(refused.value)


def test_a_name_is_used_once_and_an_update_changes_the_definition(shared: Shared) -> None:
    named = {"PipelineName": "kept", "RoleArn": ROLE}
    made = shared("CreatePipeline", PipelineDefinition=text(A), ClientRequestToken=TOKEN, **named)
    again = shared("CreatePipeline", PipelineDefinition=text(A), ClientRequestToken=TOKEN, **named)
    assert again == made  # the same token: sent again
    with pytest.raises(Refusal, match="must be unique within an AWS account"):
        shared("CreatePipeline", PipelineDefinition=text(A), ClientRequestToken="u" * 32, **named)
    other = text(processing("b", ""))
    where = shared.put("definition.json", other).removeprefix("s3://").partition("/")
    shared(
        "UpdatePipeline",
        PipelineName="kept",
        PipelineDefinitionS3Location={"Bucket": where[0], "ObjectKey": where[2]},
    )
    found = shared("DescribePipeline", PipelineName="kept")
    assert found["PipelineDefinition"] == other and found["PipelineStatus"] == "Active"
    (listed,) = shared("ListPipelines", PipelineNamePrefix="kep")["PipelineSummaries"]
    assert listed["PipelineArn"] == made["PipelineArn"]


def test_parameters_have_to_be_of_their_type(shared: Shared) -> None:
    declared = (
        parameter("Count", "Integer", 1), parameter("Must", "String"),
        parameter("Share", "Float", 0.5),
    )  # fmt: skip
    shared(
        "CreatePipeline", PipelineName="typed", RoleArn=ROLE, ClientRequestToken=TOKEN,
        PipelineDefinition=text(A, parameters=declared),
    )  # fmt: skip
    for values, said in (
        ({"Must": "x", "Count": "two"}, "'two' is not of type Integer"),
        ({"Must": "x", "Share": "nan"}, "'nan' is not of type Float"),
        ({"Must": "x", "Other": "1"}, "the pipeline has no Other"),
        ({}, "Parameter Must has no default"),
    ):
        given = [{"Name": name, "Value": value} for name, value in values.items()]
        with pytest.raises(Refusal, match=said):
            shared(
                "StartPipelineExecution", PipelineName="typed", ClientRequestToken=TOKEN,
                PipelineParameters=given,
            )  # fmt: skip
    with pytest.raises(Refusal, match="does not exist"):
        shared("StartPipelineExecution", PipelineName="nobodys", ClientRequestToken=TOKEN)


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
