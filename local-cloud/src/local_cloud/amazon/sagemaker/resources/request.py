"""What a training job's request must be, beyond what botocore's model says."""

from __future__ import annotations

import re

from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.sagemaker.resources.names import split_s3_uri
from local_cloud.client.environment import REGION
from local_cloud.json_types import Json
from local_cloud.store.errors import NoSuchBucket
from local_cloud.store.objects import Objects

DAY = 24 * 3600
LONGEST = 28 * DAY  # StoppingCondition in the API reference
# Instance types with their own disk have a "d" behind the generation's number, as ml.m5d and
# ml.g4dn have: "Amazon EC2 instance type naming conventions" (read November 2026).
OWN_DISK = re.compile(r"ml\.[a-z]+\d[a-z]*d[a-z]*\.")

# Fields of a CreateTrainingJob request that are checked and kept, and have no effect here.
IGNORED_IN = "a training job"  # as the table of calls names it
IGNORED = {
    "AlgorithmSpecification.TrainingImageConfig": "no registry is asked",
    "AlgorithmSpecification.EnableSageMakerMetricsTimeSeries": "only the last value is kept",
    "RoleArn": "everything here may read and write everything here",
    "InputDataConfig[].ContentType": "in inputdataconfig.json; only the built-in XGBoost reads it",
    "InputDataConfig[].InputMode": "FastFile copies, as File does",
    "InputDataConfig[].ShuffleConfig": "files in a folder have no order",
    "OutputDataConfig.KmsKeyId": "nothing is encrypted",
    "ResourceConfig.InstanceType": "every instance is this machine; only its GPUs are counted",
    "ResourceConfig.VolumeSizeInGB": "there is one disk",
    "ResourceConfig.VolumeKmsKeyId": "nothing is encrypted",
    "ResourceConfig.KeepAlivePeriodInSeconds": "there are no machines to keep",
    "StoppingCondition.MaxPendingTimeInSeconds": "a job waits for its turn without a limit",
    "EnableNetworkIsolation": "no network is cut off; boto3 in a job finds the local cloud",
    "EnableInterContainerTrafficEncryption": "instances connect over loopback",
    "VpcConfig": "instances connect over loopback",
    "RetryStrategy": "an internal error is reported, and the job does not start again",
    "DebugHookConfig": "nothing is recorded",
    "ProfilerConfig": "nothing is profiled",
    "RemoteDebugConfig": "log in to this machine instead",
    "InfraCheckConfig": "this machine is not checked",
    "SessionChainingConfig": "there are no sessions",
}
# What a job would fail or mean something else without: refused by name.
MISSING = {
    "ServerlessJobConfig": "serverless jobs",
    "ModelPackageConfig": "model packages",
    "MlflowConfig": "MLflow",
    "DebugRuleConfigurations": "debug rules",
    "ProfilerRuleConfigurations": "profiler rules",
}


def invalid(sentence: str) -> ServiceError:
    """Return the services' error for a request that cannot be."""
    return ServiceError("ValidationException", sentence)


def check(request: Json, objects: Objects) -> None:
    """Raise ServiceError for a request that the service, or this local cloud, does not take."""
    for field, what in MISSING.items():
        if request.get(field):
            raise not_implemented(f"{field} ({what})")
    _check_algorithm(request.get("AlgorithmSpecification") or {})
    _check_resources(request.get("ResourceConfig") or {})
    _check_warm_pool(request)
    _check_stopping(request)
    for field, uri in places(request):
        check_bucket(field, uri, objects)
    channels = [channel["ChannelName"] for channel in request.get("InputDataConfig") or []]
    if len(set(channels)) < len(channels):
        raise invalid("InputDataConfig: two channels have the same name; each needs its own")
    for channel in request.get("InputDataConfig") or []:
        _check_channel(channel, request, objects)


def places(request: Json) -> list[tuple[str, str]]:
    """Return where the job writes in S3: each field and its URI."""
    places = [("OutputDataConfig.S3OutputPath", request["OutputDataConfig"]["S3OutputPath"])]
    if checkpoints := request.get("CheckpointConfig"):
        places.append(("CheckpointConfig.S3Uri", checkpoints["S3Uri"]))
    if events := request.get("TensorBoardOutputConfig"):
        places.append(("TensorBoardOutputConfig.S3OutputPath", events["S3OutputPath"]))
    return places


def limit(request: Json) -> int:
    """MaxRuntimeInSeconds, by default a day."""
    seconds: int = (request.get("StoppingCondition") or {}).get("MaxRuntimeInSeconds") or DAY
    return seconds


def patience(request: Json) -> int | None:
    """MaxWaitTimeInSeconds of a job on spot machines; None for any other."""
    if not request.get("EnableManagedSpotTraining"):
        return None
    seconds: int = request["StoppingCondition"]["MaxWaitTimeInSeconds"]
    return seconds


def mode(channel: Json, request: Json) -> str:
    """Return the channel's input mode: its own, else the job's."""
    word: str = channel.get("InputMode") or request["AlgorithmSpecification"]["TrainingInputMode"]
    return word


def _check_algorithm(algorithm: Json) -> None:
    if "AlgorithmName" in algorithm:
        raise not_implemented("AlgorithmSpecification.AlgorithmName (algorithms by name)")
    if not algorithm.get("TrainingImage"):
        raise invalid("AlgorithmSpecification.TrainingImage is required: name an image")
    for metric in algorithm.get("MetricDefinitions") or []:
        try:
            re.compile(metric["Regex"])
        except re.error as problem:
            raise invalid(
                f"Metric {metric['Name']}: {metric['Regex']!r} is no regular expression ({problem})"
            ) from None


def _check_resources(resources: Json) -> None:
    for field in ("InstanceGroups", "TrainingPlanArn", "InstancePreferences"):
        if resources.get(field):
            raise not_implemented(f"ResourceConfig.{field}")
    if not resources.get("InstanceType") or not resources.get("InstanceCount"):
        raise invalid("ResourceConfig needs an InstanceType and an InstanceCount of 1 or more")
    if not resources["InstanceType"].startswith("ml."):
        raise invalid(f"{resources['InstanceType']} is no instance type of training jobs")
    check_volume_key("ResourceConfig", resources)


def _check_warm_pool(request: Json) -> None:
    """Refuse a warm pool of spot instances, as "Managed warm pools" in the developer guide does.

    Read as of June 2023.
    """
    keeps = (request.get("ResourceConfig") or {}).get("KeepAlivePeriodInSeconds")
    if keeps and request.get("EnableManagedSpotTraining"):
        raise invalid(
            "ResourceConfig.KeepAlivePeriodInSeconds: managed warm pools cannot be used with"
            " managed spot training; leave one of them out"
        )


def check_volume_key(field: str, resources: Json) -> None:
    """Refuse a key for a volume where the instance has its own disk, as the API reference says.

    Of ResourceConfig, ProcessingClusterConfig and TransformResources (read November 2026).
    """
    if resources.get("VolumeKmsKeyId") and OWN_DISK.match(resources["InstanceType"]):
        raise invalid(
            f"{field}.VolumeKmsKeyId cannot be requested for {resources['InstanceType']}, which has"
            " local storage; leave it out"
        )


def _check_stopping(request: Json) -> None:
    if limit(request) > LONGEST:
        raise invalid(
            f"StoppingCondition.MaxRuntimeInSeconds is {limit(request)}: a training job runs for"
            f" {LONGEST} seconds (28 days) at most"
        )
    wait = (request.get("StoppingCondition") or {}).get("MaxWaitTimeInSeconds")
    if request.get("EnableManagedSpotTraining"):
        if wait is None or wait < limit(request):
            raise invalid(
                "Invalid MaxWaitTimeInSeconds. It must be present and be greater than or equal to"
                " MaxRuntimeInSeconds"
            )
    elif wait is not None:
        # Observed: Kenza-AI/sagify#111 (2020), of tuning jobs aws/amazon-sagemaker-examples#869.
        raise invalid(
            "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is"
            " set to true"
        )


def check_bucket(field: str, uri: str, objects: Objects) -> None:
    """Refuse a URI whose bucket is not there."""
    try:
        bucket, _ = split_s3_uri(uri)
        objects.bucket(bucket)
    except (ValueError, NoSuchBucket) as problem:
        raise invalid(f"{field}: {problem}; make the bucket first and name it in full") from None


def _check_channel(channel: Json, request: Json, objects: Objects) -> None:
    name = channel["ChannelName"]
    if name in (".", ".."):
        raise invalid(f"InputDataConfig: a channel cannot be called {name!r}")
    if mode(channel, request) == "Pipe":
        raise not_implemented(f"channel {name}: the input mode Pipe; use File or FastFile")
    for field in ("CompressionType", "RecordWrapperType"):
        if channel.get(field, "None") != "None":
            raise not_implemented(f"channel {name}: {field} {channel[field]}")
    for field in ("FileSystemDataSource", "DatasetSource"):
        if channel["DataSource"].get(field):
            raise not_implemented(f"channel {name}: {field}")
    if not (source := channel["DataSource"].get("S3DataSource")):
        raise invalid(f"InputDataConfig: channel {name} needs a DataSource.S3DataSource")
    for field in ("AttributeNames", "InstanceGroupNames", "ModelAccessConfig", "HubAccessConfig"):
        if source.get(field):
            raise not_implemented(f"channel {name}: {field}")
    if source["S3DataType"] != "S3Prefix":
        raise not_implemented(f"channel {name}: S3DataType {source['S3DataType']}; use S3Prefix")
    _check_source(name, source["S3Uri"], request["RoleArn"], objects=objects)


def _check_source(channel: str, uri: str, role: str, *, objects: Objects) -> None:
    """Require something to read, as the service does at create time, in these words."""
    try:
        bucket, prefix = split_s3_uri(uri)
    except ValueError as problem:
        raise invalid(f"InputDataConfig: channel {channel}: {problem}") from None
    try:
        if next(objects.names(bucket, prefix), None) is not None:
            return
    except NoSuchBucket:
        pass
    raise invalid(
        f'No S3 objects found under S3 URL "{uri}" given in input data source. Please ensure'
        f" that the bucket exists in the selected region ({REGION}), that objects exist under that"
        f' S3 prefix, and that the role "{role}" has "s3:ListBucket" permissions on bucket'
        f' "{bucket}".'
    )
