"""Definitions of pipelines, step by step, and executions of them."""

from __future__ import annotations

import json
import time
from typing import Any

import boto3

from local_cloud.json_types import Json
from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.support import IMAGE, ROLE, packed

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


def tuning(name: str, script: str) -> Json:
    """A step that tries two rates with this Python script, which prints a distance."""
    job = training(name, "", "", {})["Arguments"]
    body = packed({"task.py": script})
    boto3.client("s3").put_object(Bucket=BUCKET, Key="code.tar.gz", Body=body)
    shared = ("RoleArn", "OutputDataConfig", "ResourceConfig", "StoppingCondition")
    metric = {"Name": "distance", "Regex": r"distance = (\S+)"}
    image = {"TrainingImage": IMAGE, "TrainingInputMode": "File"}
    rate = {"Name": "rate", "Values": ["1", "2"]}
    return {
        "Name": name,
        "Type": "Tuning",
        "Arguments": {
            "HyperParameterTuningJobConfig": {
                "Strategy": "Grid",
                "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "distance"},
                "ResourceLimits": {"MaxNumberOfTrainingJobs": 2, "MaxParallelTrainingJobs": 2},
                "ParameterRanges": {"CategoricalParameterRanges": [rate]},
            },
            "TrainingJobDefinition": {
                **{field: job[field] for field in shared},
                "AlgorithmSpecification": image | {"MetricDefinitions": [metric]},
                "StaticHyperParameters": {
                    "sagemaker_program": "task.py",
                    "sagemaker_submit_directory": f"s3://{BUCKET}/code.tar.gz",
                },
            },
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


def make(client: Any, definition: str, **more: Any) -> str:
    """Make a pipeline with a new name; returns that."""
    name = serving.named("pipeline")
    client.create_pipeline(PipelineName=name, PipelineDefinition=definition, RoleArn=ROLE, **more)
    return name


def start(client: Any, name: str, **parameters: str) -> str:
    """Start an execution; returns its ARN."""
    values = [{"Name": key, "Value": value} for key, value in parameters.items()]
    started = client.start_pipeline_execution(PipelineName=name, PipelineParameters=values)
    return str(started["PipelineExecutionArn"])


def ended(client: Any, execution: str, status: str = "Succeeded") -> Json:
    """The execution's description when it has ended."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        described: Json = client.describe_pipeline_execution(PipelineExecutionArn=execution)
        if described["PipelineExecutionStatus"] not in ("Executing", "Stopping"):
            assert described["PipelineExecutionStatus"] == status, steps(client, execution)
            return described
        time.sleep(0.02)
    raise AssertionError(steps(client, execution))


def steps(client: Any, execution: str) -> dict[str, Json]:
    """The steps of an execution, by name, in the order in which they began."""
    pipeline_execution_steps = client.list_pipeline_execution_steps(
        PipelineExecutionArn=execution, SortOrder="Ascending"
    )
    return {step["StepName"]: step for step in pipeline_execution_steps["PipelineExecutionSteps"]}
