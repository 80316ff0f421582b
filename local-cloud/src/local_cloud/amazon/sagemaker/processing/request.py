"""What a processing job's request must be, beyond what botocore's model says."""

from __future__ import annotations

from pathlib import PurePosixPath

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.sagemaker.resources.request import check_bucket, check_volume_key, invalid
from local_cloud.json_types import Json
from local_cloud.store.objects import Objects

ROOT = "/opt/ml/processing"  # below it is every LocalPath: API reference, ProcessingS3Input

# Fields of a CreateProcessingJob request that are checked and kept, and have no effect here.
IGNORED_IN = "a processing job"  # as the table of calls names it
IGNORED = {
    "RoleArn": "everything here may read and write everything here",
    "ProcessingOutputConfig.KmsKeyId": "nothing is encrypted",
    "ProcessingResources.ClusterConfig.VolumeSizeInGB": "there is one disk",
    "ProcessingResources.ClusterConfig.VolumeKmsKeyId": "nothing is encrypted",
    "NetworkConfig": "no network is cut off; instances connect over loopback",
}


def inputs(request: Json) -> list[Json]:
    """Return the inputs of a request."""
    return request.get("ProcessingInputs") or []


def outputs(request: Json) -> list[Json]:
    """Return the outputs of a request."""
    return (request.get("ProcessingOutputConfig") or {}).get("Outputs") or []


def check(request: Json, objects: Objects) -> None:
    """Raise ServiceError for a request that the service, or this local cloud, does not take."""
    cluster = request["ProcessingResources"]["ClusterConfig"]
    if cluster.get("InstancePreferences"):
        raise not_implemented("ProcessingResources.ClusterConfig.InstancePreferences")
    if not cluster.get("InstanceType") or not cluster.get("InstanceCount"):
        raise invalid("ClusterConfig needs an InstanceType and an InstanceCount of 1 or more")
    check_volume_key("ProcessingResources.ClusterConfig", cluster)
    _check_names([each["InputName"] for each in inputs(request)], "ProcessingInputs")
    _check_names([each["OutputName"] for each in outputs(request)], "Outputs")
    for each in inputs(request):
        _check_input(each, objects)
    for each in outputs(request):
        _check_output(each, objects)
    _check_apart(request)


def _check_names(names: list[str], field: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise invalid(f"{field}: two have the name {name}; each needs its own")


def _check_input(given: Json, objects: Objects) -> None:
    name = f"ProcessingInputs: {given['InputName']}"
    for field in ("AppManaged", "DatasetDefinition"):
        if given.get(field):
            raise not_implemented(f"{name}: {field}; use S3Input")
    source = given.get("S3Input")
    if not source:
        raise invalid(f"{name} needs an S3Input")
    for field, only in (
        ("S3DataType", "S3Prefix"),
        ("S3InputMode", "File"),
        ("S3CompressionType", "None"),
    ):
        if source.get(field, only) != only:
            raise not_implemented(f"{name}: {field} {source[field]}; use {only}")
    _check_path(f"{name}: S3Input.LocalPath", source.get("LocalPath", ""))
    check_bucket(f"{name}: S3Uri", source["S3Uri"], objects)


def _check_output(given: Json, objects: Objects) -> None:
    name = f"Outputs: {given['OutputName']}"
    for field in ("AppManaged", "FeatureStoreOutput"):
        if given.get(field):
            raise not_implemented(f"{name}: {field}; use S3Output")
    target = given.get("S3Output")
    if not target:
        raise invalid(f"{name} needs an S3Output")
    if target["S3UploadMode"] != "EndOfJob":
        raise not_implemented(f"{name}: S3UploadMode {target['S3UploadMode']}; use EndOfJob")
    _check_path(f"{name}: S3Output.LocalPath", target.get("LocalPath", ""))
    check_bucket(f"{name}: S3Uri", target["S3Uri"], objects)


def _check_path(field: str, path: str) -> None:
    """Require a folder below ROOT, written without detours."""
    inside = PurePosixPath(path)
    if ROOT not in map(str, inside.parents) or ".." in inside.parts:
        raise invalid(f"{field}: {path!r} must begin with {ROOT}/ and name a folder below it")


def _check_apart(request: Json) -> None:
    """Require that no two of the paths are the same folder: one would hold what is the other's."""
    paths = [str(PurePosixPath(each["S3Input"]["LocalPath"])) for each in inputs(request)]
    paths += [str(PurePosixPath(each["S3Output"]["LocalPath"])) for each in outputs(request)]
    for path in paths:
        if paths.count(path) > 1:
            raise invalid(f"LocalPath {path} is given twice; each input and output has its own")
