"""The parts of a small home on Amazon's side: each is made by the real SDK, and read by it."""

from __future__ import annotations

import io
import json
import tarfile
import time
from typing import Any

import boto3

BUCKET = "kept-s3"
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312"
CLUSTER = {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1}
PART = 5 << 20  # bytes, the least of a part; all alike, so that the archive stays small


# ---- S3 -----------------------------------------------------------------------------------------
def make_objects() -> None:
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="a/text.txt", Body=b"some text", Metadata={"of": "kept"})
    s3.put_object(Bucket=BUCKET, Key="a/ünï code.json", Body=b"{}", ContentType="application/json")
    target = {"Bucket": BUCKET, "Key": "a/parts.bin"}
    upload = s3.create_multipart_upload(**target)["UploadId"]
    parts = []
    for number, body in ((1, b"\0" * PART), (2, b"the end")):
        made = s3.upload_part(**target, UploadId=upload, PartNumber=number, Body=body)
        parts.append({"PartNumber": number, "ETag": made["ETag"]})
    s3.complete_multipart_upload(**target, UploadId=upload, MultipartUpload={"Parts": parts})


def read_objects() -> Any:
    s3, objects = boto3.client("s3"), {}
    for listed in s3.list_objects_v2(Bucket=BUCKET, Prefix="a/")["Contents"]:
        answer = s3.get_object(Bucket=BUCKET, Key=listed["Key"])
        body = answer["Body"].read()
        fields = ("ETag", "ContentType", "Metadata", "ContentLength")
        objects[listed["Key"]] = {
            **{field: answer[field] for field in fields},
            "end": body[-20:].decode().strip("\0"),
            "modified": str(answer["LastModified"]),
        }
    return objects


# ---- SageMaker: jobs ----------------------------------------------------------------------------
def training(code: str) -> dict[str, Any]:
    return {
        "AlgorithmSpecification": {
            "TrainingImage": IMAGE,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "-c", code],
            "MetricDefinitions": [{"Name": "loss", "Regex": "loss=(.*?);"}],
        },
        "RoleArn": ROLE,
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
        "ResourceConfig": CLUSTER,
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
    }


GOOD = "print('loss=0.5;'); open('/opt/ml/model/model.txt', 'w').write('a model')"
BAD = "import sys; sys.exit('what went wrong')"


def make_jobs() -> None:
    client = boto3.client("sagemaker")
    for name, code in (("good", GOOD), ("bad", BAD)):
        tags = [{"Key": "which", "Value": name}]
        client.create_training_job(TrainingJobName=name, Tags=tags, **training(code))
        while client.describe_training_job(TrainingJobName=name)["TrainingJobStatus"] not in (
            "Completed",
            "Failed",
        ):
            time.sleep(0.1)


def read_jobs() -> Any:
    client, logs, jobs = boto3.client("sagemaker"), boto3.client("logs"), {}
    group = "/aws/sagemaker/TrainingJobs"
    for name in ("good", "bad"):
        job = client.describe_training_job(TrainingJobName=name)
        events = []
        for stream in logs.describe_log_streams(logGroupName=group, logStreamNamePrefix=f"{name}/")[
            "logStreams"
        ]:
            answer = logs.get_log_events(
                logGroupName=group, logStreamName=stream["logStreamName"], startFromHead=True
            )
            events += [[one["timestamp"], one["message"]] for one in answer["events"]]
        metrics = [[one["MetricName"], one["Value"]] for one in job.get("FinalMetricDataList", [])]
        fields = ("TrainingJobArn", "TrainingJobStatus", "SecondaryStatus")
        times = ("CreationTime", "TrainingStartTime", "TrainingEndTime")
        jobs[name] = {
            **{field: job[field] for field in fields},
            "reason": job.get("FailureReason"),
            "model": job.get("ModelArtifacts"),
            "times": [str(job[each]) for each in times],
            "metrics": metrics,
            "log": events,
            "tags": client.list_tags(ResourceArn=job["TrainingJobArn"])["Tags"],
        }
    return jobs


TRIAL = b"""
import sys
print(f"loss={abs(float(sys.argv[sys.argv.index('--rate') + 1]) - 3)};")
"""
TUNED = {"HyperParameterTuningJobName": "tuned"}


def make_tuning() -> None:
    client, archive = boto3.client("sagemaker"), io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as packed:
        script = tarfile.TarInfo("task.py")
        script.size = len(TRIAL)
        packed.addfile(script, io.BytesIO(TRIAL))
    boto3.client("s3").put_object(Bucket=BUCKET, Key="code.tar.gz", Body=archive.getvalue())
    program = {
        "sagemaker_program": "task.py",
        "sagemaker_submit_directory": f"s3://{BUCKET}/code.tar.gz",
    }
    definition = training("") | {"StaticHyperParameters": program}
    del definition["AlgorithmSpecification"]["ContainerEntrypoint"]
    rate = {"Name": "rate", "MinValue": "0", "MaxValue": "10", "ScalingType": "Linear"}
    client.create_hyper_parameter_tuning_job(
        **TUNED,
        HyperParameterTuningJobConfig={
            "Strategy": "Random",
            "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "loss"},
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 2, "MaxParallelTrainingJobs": 2},
            "ParameterRanges": {"ContinuousParameterRanges": [rate]},
        },
        TrainingJobDefinition=definition,
    )
    while client.describe_hyper_parameter_tuning_job(**TUNED)["HyperParameterTuningJobStatus"] == (
        "InProgress"
    ):
        time.sleep(0.1)


def read_tuning() -> Any:
    client = boto3.client("sagemaker")
    job = client.describe_hyper_parameter_tuning_job(**TUNED)
    trials = client.list_training_jobs_for_hyper_parameter_tuning_job(**TUNED)
    listed = sorted(trials["TrainingJobSummaries"], key=lambda one: one["TrainingJobName"])
    return {
        "status": job["HyperParameterTuningJobStatus"],
        "best": job["BestTrainingJob"]["TrainingJobName"],
        "trials": [
            [
                one["TrainingJobName"],
                one["TrainingJobStatus"],
                one["TunedHyperParameters"],
                one["FinalHyperParameterTuningJobObjectiveMetric"]["Value"],
            ]
            for one in listed
        ],
    }


# ---- SageMaker: models, endpoints' configurations, notebooks ------------------------------------
def make_models() -> None:
    client = boto3.client("sagemaker")
    artifacts = client.describe_training_job(TrainingJobName="good")["ModelArtifacts"]
    container = {"Image": IMAGE, "ModelDataUrl": artifacts["S3ModelArtifacts"]}
    client.create_model(ModelName="kept", PrimaryContainer=container, ExecutionRoleArn=ROLE)
    variant = {"VariantName": "all", "ModelName": "kept", "InstanceType": "ml.m5.large"}
    client.create_endpoint_config(
        EndpointConfigName="kept", ProductionVariants=[variant | {"InitialInstanceCount": 1}]
    )


def read_models() -> Any:
    client = boto3.client("sagemaker")
    model = client.describe_model(ModelName="kept")
    config = client.describe_endpoint_config(EndpointConfigName="kept")
    return {
        "model": [model["ModelArn"], model["PrimaryContainer"], str(model["CreationTime"])],
        "config": [config["EndpointConfigArn"], config["ProductionVariants"]],
    }


def make_notebook() -> None:
    boto3.client("sagemaker").create_notebook_instance(
        NotebookInstanceName="kept", InstanceType="ml.t3.medium", RoleArn=ROLE
    )


def read_notebook() -> Any:
    client = boto3.client("sagemaker")
    notebook_instance = client.describe_notebook_instance(NotebookInstanceName="kept")
    fields = ("NotebookInstanceArn", "NotebookInstanceStatus", "InstanceType", "RoleArn")
    return {field: notebook_instance[field] for field in fields}


# ---- SageMaker: pipelines and experiments -------------------------------------------------------
def make_pipeline() -> None:
    client = boto3.client("sagemaker")
    processing = {
        "RoleArn": ROLE,
        "ProcessingResources": {"ClusterConfig": CLUSTER | {"VolumeSizeInGB": 30}},
        "AppSpecification": {
            "ImageUri": IMAGE,
            "ContainerEntrypoint": ["python3", "-c", "print('a step')"],
        },
    }
    step = {"Name": "only", "Type": "Processing", "Arguments": processing}
    definition = {"Version": "2020-12-01", "Steps": [step]}
    client.create_pipeline(
        PipelineName="piped",
        PipelineDefinition=json.dumps(definition),
        RoleArn=ROLE,
        ClientRequestToken="t" * 32,
    )
    execution = client.start_pipeline_execution(PipelineName="piped", ClientRequestToken="u" * 32)[
        "PipelineExecutionArn"
    ]
    while (
        client.describe_pipeline_execution(PipelineExecutionArn=execution)[
            "PipelineExecutionStatus"
        ]
        == "Executing"
    ):
        time.sleep(0.1)


def read_pipeline() -> Any:
    client = boto3.client("sagemaker")
    listed = client.list_pipeline_executions(PipelineName="piped")["PipelineExecutionSummaries"]
    (execution,) = [one["PipelineExecutionArn"] for one in listed]
    described = client.describe_pipeline_execution(PipelineExecutionArn=execution)
    steps = client.list_pipeline_execution_steps(PipelineExecutionArn=execution)
    return {
        "execution": [
            execution,
            described["PipelineExecutionStatus"],
            str(described["CreationTime"]),
        ],
        "steps": [
            [one["StepName"], one["StepStatus"], str(one["EndTime"]), one["Metadata"]]
            for one in steps["PipelineExecutionSteps"]
        ],
    }


def make_experiment() -> None:
    client = boto3.client("sagemaker")
    client.create_experiment(ExperimentName="tried")
    client.create_trial(TrialName="first", ExperimentName="tried")
    parameters = {"rate": {"NumberValue": 0.5}, "kind": {"StringValue": "sgd"}}
    client.create_trial_component(TrialComponentName="part", Parameters=parameters)
    client.associate_trial_component(TrialComponentName="part", TrialName="first")


def read_experiment() -> Any:
    client = boto3.client("sagemaker")
    component = client.describe_trial_component(TrialComponentName="part")
    trials = client.list_trials(ExperimentName="tried")["TrialSummaries"]
    parts = client.list_trial_components(TrialName="first")["TrialComponentSummaries"]
    return {
        "trials": [one["TrialName"] for one in trials],
        "parts": [one["TrialComponentName"] for one in parts],
        "parameters": component["Parameters"],
    }
