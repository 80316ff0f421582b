"""Real requests of the SDKs, as they were sent: what the mutations start from."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest"
SAGEMAKER_IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312"
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": IMAGE, "command": ["true"], "args": ["--epochs", "1"]},
}


class Recorded(NamedTuple):
    """A request; `target` is its path and query, without the secret."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


def record(url: str) -> list[Recorded]:
    """Call what the services have by the real SDKs, and return what they sent to `url`."""
    requests_seen: list[Recorded] = []
    with _watching(url, requests_seen):
        for call in (_gcs, _vertex, _trackers, _s3, _sagemaker, _records, _other_amazon):
            call()
    return requests_seen


@contextlib.contextmanager
def _watching(url: str, requests_seen: list[Recorded]) -> Iterator[None]:
    import botocore.httpsession
    import requests

    def keep(sent: Any) -> None:
        body = sent.body
        if hasattr(body, "read"):
            at = body.tell()
            body = body.read()
            sent.body.seek(at)
        if isinstance(body, str):
            body = body.encode()
        headers = {
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in sent.headers.items()
        }
        assert sent.url.startswith(url)
        target = sent.url.removeprefix(url) or "/"
        requests_seen.append(Recorded(sent.method, target, headers, bytes(body or b"")))

    def kept(kind: type, name: str) -> Any:
        original: Callable[..., Any] = getattr(kind, name)

        def send(self: Any, sent: Any, *args: Any, **kwargs: Any) -> Any:
            keep(sent)
            return original(self, sent, *args, **kwargs)

        return mock.patch.object(kind, name, send)

    with kept(requests.Session, "send"), kept(botocore.httpsession.URLLib3Session, "send"):
        yield


def _gcs() -> None:
    from google.cloud import storage

    client = storage.Client(project="mutated")
    bucket = client.bucket("mutated-bucket")
    bucket.labels = {"made": "by-a-test"}
    bucket = client.create_bucket(bucket)
    blob = bucket.blob("folder/a file.txt")
    blob.metadata = {"some": "thing"}
    blob.upload_from_string("0123456789", content_type="text/plain")
    large = bucket.blob("large", chunk_size=1 << 18)
    large.upload_from_string(b"x" * (1 << 18) + b"y")
    blob.download_as_bytes(start=2, end=5)
    blob.cache_control = "no-store"
    blob.patch()
    blob.reload()
    list(client.list_blobs(bucket, prefix="folder/", delimiter="/", max_results=1))
    list(client.list_buckets())
    bucket.blob("both").compose([blob, large])
    bucket.copy_blob(blob, bucket, "copy")
    bucket.blob("rewritten").rewrite(blob)
    bucket.patch()
    bucket.blob("copy").delete(if_generation_match=None)
    client.get_bucket("mutated-bucket")


def _vertex() -> None:
    from google.cloud import aiplatform
    from google.cloud.aiplatform import hyperparameter_tuning as space

    bucket = "gs://mutated-bucket"
    aiplatform.init(project="mutated", location="us-central1", staging_bucket=bucket)
    job = aiplatform.CustomJob("job", [POOL], labels={"a": "b"})
    job.submit(timeout=60)
    job.state  # noqa: B018  it asks
    aiplatform.CustomJob.list(filter='display_name="job"', order_by="create_time desc")
    study = aiplatform.HyperparameterTuningJob(
        "study",
        aiplatform.CustomJob("trial", [POOL]),
        metric_spec={"accuracy": "maximize"},
        parameter_spec={
            "rate": space.DoubleParameterSpec(min=0.1, max=1, scale="log"),
            "size": space.DiscreteParameterSpec([1, 2], None),
            "kind": space.CategoricalParameterSpec(["a", "b"]),
        },
        max_trial_count=1,
        parallel_trial_count=1,
    )
    study.run(sync=False)
    study.wait_for_resource_creation()
    study.cancel()
    job.cancel()
    model = aiplatform.Model.upload(
        display_name="model", artifact_uri=f"{bucket}/folder", version_aliases=["first"],
        serving_container_image_uri=IMAGE, labels={"a": "b"},
    )  # fmt: skip
    model.update(description="other")
    model.versioning_registry.add_version_aliases(["second"], "1")
    model.versioning_registry.list_versions()
    aiplatform.Model.list(filter="labels.a=b")
    model.delete()


def _trackers() -> None:
    from google.cloud import aiplatform

    aiplatform.init(project="mutated", location="us-central1", experiment="mutated")
    with aiplatform.start_run("run") as run:
        aiplatform.log_params({"seed": 1})
        aiplatform.log_metrics({"loss": 0.5})
        aiplatform.log_time_series_metrics({"loss": 0.5}, step=1)
        with aiplatform.start_execution(schema_title="system.Run", display_name="e") as execution:
            artifact = aiplatform.Artifact.create(schema_title="system.Dataset", uri="gs://x/y")
            execution.assign_input_artifacts([artifact])
        run.get_time_series_data_frame()
    aiplatform.get_experiment_df("mutated")
    aiplatform.Artifact.list(filter='schema_title="system.Dataset"')


def _s3() -> None:
    import boto3

    s3 = boto3.client("s3")
    at = {"Bucket": "mutated-bucket"}
    s3.create_bucket(**at)
    s3.put_bucket_tagging(**at, Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    s3.get_bucket_tagging(**at)
    s3.put_object(**at, Key="folder/a file", Body=b"0123456789", Metadata={"a": "b"})
    s3.put_object(**at, Key="code/x.py", Body=b"print(1)\n", ChecksumAlgorithm="SHA256")
    s3.get_object(**at, Key="folder/a file", Range="bytes=2-5")
    s3.head_object(**at, Key="folder/a file")
    s3.copy_object(**at, Key="copy", CopySource="mutated-bucket/folder/a file")
    s3.put_object_tagging(**at, Key="copy", Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    s3.get_object_attributes(**at, Key="copy", ObjectAttributes=["ETag", "ObjectSize"])
    s3.list_objects_v2(**at, Prefix="folder/", Delimiter="/", MaxKeys=1)
    s3.list_objects(**at)
    s3.list_object_versions(**at)
    s3.list_buckets()
    upload = s3.create_multipart_upload(**at, Key="parts")["UploadId"]
    part = {**at, "Key": "parts", "UploadId": upload}
    tag = s3.upload_part(**part, PartNumber=1, Body=b"x")["ETag"]
    s3.list_parts(**part)
    s3.list_multipart_uploads(**at)
    s3.complete_multipart_upload(
        **part, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]}
    )
    s3.delete_objects(**at, Delete={"Objects": [{"Key": "copy"}, {"Key": "none"}]})


def _training() -> dict[str, Any]:
    return {
        "AlgorithmSpecification": {"TrainingImage": SAGEMAKER_IMAGE, "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::000000000000:role/SageMakerExecutionRole",
        "OutputDataConfig": {"S3OutputPath": "s3://mutated-bucket/out"},
        "ResourceConfig": {
            "InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "InputDataConfig": [
            {
                "ChannelName": "train",
                "DataSource": {
                    "S3DataSource": {
                        "S3DataType": "S3Prefix", "S3Uri": "s3://mutated-bucket/folder",
                    }
                },
            }
        ],
    }  # fmt: skip


def _sagemaker() -> None:
    import boto3

    sagemaker = boto3.client("sagemaker")
    name = {"TrainingJobName": "mutated"}
    job = _training()
    job["AlgorithmSpecification"]["ContainerEntrypoint"] = ["true"]
    tags = [{"Key": "a", "Value": "b"}]
    sagemaker.create_training_job(**name, **job, HyperParameters={"x": "1"}, Tags=tags)
    arn = sagemaker.describe_training_job(**name)["TrainingJobArn"]
    sagemaker.list_training_jobs(
        SortBy="CreationTime", SortOrder="Descending", MaxResults=5, NameContains="mut",
        StatusEquals="InProgress", CreationTimeAfter=1.0,
    )  # fmt: skip
    sagemaker.add_tags(ResourceArn=arn, Tags=tags)
    sagemaker.list_tags(ResourceArn=arn)
    sagemaker.delete_tags(ResourceArn=arn, TagKeys=["a"])
    tuning = _training()
    tuning["AlgorithmSpecification"]["MetricDefinitions"] = [{"Name": "a", "Regex": "a=(.*)"}]
    study = {"HyperParameterTuningJobName": "mutated"}
    sagemaker.create_hyper_parameter_tuning_job(
        **study,
        HyperParameterTuningJobConfig={
            "Strategy": "Random",
            "HyperParameterTuningJobObjective": {"Type": "Maximize", "MetricName": "a"},
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 1, "MaxParallelTrainingJobs": 1},
            "ParameterRanges": {
                "ContinuousParameterRanges": [
                    {"Name": "r", "MinValue": "0.1", "MaxValue": "1", "ScalingType": "Auto"}
                ]
            },
        },
        TrainingJobDefinition={
            "StaticHyperParameters": {
                "sagemaker_program": "x.py",
                "sagemaker_submit_directory": "s3://mutated-bucket/code/x.py",
            },
            **tuning,
        },
    )
    sagemaker.describe_hyper_parameter_tuning_job(**study)
    sagemaker.list_hyper_parameter_tuning_jobs(SortBy="Name", SortOrder="Ascending")
    sagemaker.list_training_jobs_for_hyper_parameter_tuning_job(
        **study, SortBy="FinalObjectiveMetricValue"
    )
    with contextlib.suppress(sagemaker.exceptions.ClientError):
        # Its training job fails at once, as its code is no archive. Where the tuning job has failed
        # by now the service refuses to stop it, and so does the local cloud.
        sagemaker.stop_hyper_parameter_tuning_job(**study)


def _records() -> None:
    import boto3

    sagemaker = boto3.client("sagemaker")
    notebook = {"NotebookInstanceName": "mutated"}
    role = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
    sagemaker.create_notebook_instance(**notebook, InstanceType="ml.t3.medium", RoleArn=role)
    sagemaker.describe_notebook_instance(**notebook)
    sagemaker.list_notebook_instances(SortBy="Name", StatusEquals="InService")
    group = {"ModelPackageGroupName": "mutated"}
    sagemaker.create_model_package_group(**group, ModelPackageGroupDescription="x")
    package = sagemaker.create_model_package(
        **group,
        ModelApprovalStatus="PendingManualApproval",
        InferenceSpecification={
            "Containers": [
                {"Image": SAGEMAKER_IMAGE, "ModelDataUrl": "s3://mutated-bucket/code/x.py"}
            ],
            "SupportedContentTypes": ["text/csv"],
            "SupportedResponseMIMETypes": ["text/csv"],
        },
        CustomerMetadataProperties={"a": "b"},
    )["ModelPackageArn"]
    sagemaker.describe_model_package(ModelPackageName=package)
    sagemaker.update_model_package(ModelPackageArn=package, ModelApprovalStatus="Approved")
    sagemaker.list_model_packages(ModelPackageGroupName="mutated", SortBy="CreationTime")
    sagemaker.list_model_package_groups(NameContains="m", SortBy="Name")


def _other_amazon() -> None:
    import boto3

    logs, iam, sts = (boto3.client(name) for name in ("logs", "iam", "sts"))
    group = {"logGroupName": "/aws/sagemaker/TrainingJobs"}
    streams = logs.describe_log_streams(**group, logStreamNamePrefix="mutated/", limit=5)
    for stream in streams["logStreams"]:
        logs.get_log_events(**group, logStreamName=stream["logStreamName"], startFromHead=True)
    logs.filter_log_events(**group, filterPattern='"a" -b', startTime=0, limit=5)
    logs.describe_log_groups(logGroupNamePrefix="/aws")
    iam.get_role(RoleName="SageMakerExecutionRole")
    sts.get_caller_identity()
    iam.simulate_principal_policy(
        PolicySourceArn="arn:aws:iam::000000000000:role/SageMakerExecutionRole",
        ActionNames=["s3:PutObject"],
        ResourceArns=["*"],
    )
