"""Requests checked against the service's own protos, and resources in their JSON form.

Source: google.cloud.aiplatform_v1.types, the messages of the real client library.
"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from typing import Any

from google.cloud.aiplatform_v1.types import (
    CustomJob,
    CustomJobSpec,
    HyperparameterTuningJob,
    Model,
    TrainingPipeline,
)
from google.cloud.aiplatform_v1.types.model_service import (
    MergeVersionAliasesRequest,
    UploadModelRequest,
)
from google.protobuf import json_format

from local_cloud.vertex.errors import ApiError

Json = dict[str, Any]

__all__ = [
    "CustomJob",
    "CustomJobSpec",
    "HyperparameterTuningJob",
    "Json",
    "MergeVersionAliasesRequest",
    "Model",
    "TrainingPipeline",
    "UploadModelRequest",
]

# What the service fills in; a request that carries them is not wrong, they are not read.
OUTPUT_ONLY = ("name", "state", "createTime", "startTime", "endTime", "updateTime", "error", "etag")

# Machine series that custom training offers: Vertex AI's page "Configure compute resources", 2026.
MACHINES = re.compile(
    r"(?:n1|n2|n2d|c2|c2d|c3|c4|e2|m1|m2|m3|a2|a3|a4|g2|g4|ct5lp|ct6e|cloud-tpu|cloud_tpu|tpu7x)"
    r"[-a-z0-9_]*"
)


GCS = re.compile("gs://[^/]")
MOST = 100  # replicas of a job, each a process here; real projects have quotas


def checked(
    kind: Any, body: Any, where: str = "", output_only: tuple[str, ...] = OUTPUT_ONLY
) -> Json:
    """`body` in the proto's canonical JSON (camelCase, names of enums), or INVALID_ARGUMENT.

    It may be written in snake_case or camelCase, with numbers or names of enums, and with whole
    numbers as floats: the SDK sends all of these. `where` is put before what is wrong.
    """
    message = kind.pb()()
    try:
        json_format.ParseDict(body, message)
    except json_format.ParseError as problem:
        what = str(problem).strip().splitlines()[0]
        place = f" at '{where}'" if where else ""
        raise ApiError(
            "INVALID_ARGUMENT", f"Invalid JSON payload received{place}: {what}"
        ) from None
    found: Json = json_format.MessageToDict(message)
    return {name: value for name, value in found.items() if name not in output_only}


def with_text_args(spec: Any) -> Any:
    """A copy of free-form task inputs in which every argument of a program is text.

    The SDK lets callers write `args=["--epochs", 50]` and sends the number, as a float.
    """
    if isinstance(spec, list):
        return [with_text_args(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    found = {name: with_text_args(value) for name, value in spec.items()}
    if isinstance(args := found.get("args"), list):
        found["args"] = [f"{arg:.15g}" if isinstance(arg, float) else arg for arg in args]
    return found


def snake_case(kind: Any, resource: Json) -> Json:
    """The same resource with the proto's own field names."""
    message = kind.pb()()
    json_format.ParseDict(resource, message)
    found: Json = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return found


def require(fulfilled: object, message: str) -> None:
    """INVALID_ARGUMENT with this message unless the condition is fulfilled."""
    if not fulfilled:
        raise ApiError("INVALID_ARGUMENT", message)


def check_job_spec(spec: Json) -> None:
    """What the protos cannot say about a CustomJobSpec (contracts: Worker pools)."""
    pools = spec.get("workerPoolSpecs", [])
    require(pools and pools[0], "workerPoolSpecs: the first worker pool needs a replica")
    require(len(pools) <= 4, f"workerPoolSpecs: {len(pools)} pools; there are four roles at most")
    for place, pool in enumerate(pools):
        if pool:
            _check_pool(f"workerPoolSpecs[{place}]", place, pool)
    prefix = spec.get("baseOutputDirectory", {}).get("outputUriPrefix", "gs://none")
    require(GCS.match(prefix), f"baseOutputDirectory: {prefix!r} does not begin with gs://BUCKET")
    limit = spec.get("scheduling", {}).get("timeout", "0s")
    require(not limit.startswith("-"), f"scheduling.timeout: {limit} is negative")
    count = sum(int(pool.get("replicaCount", 0)) for pool in pools)
    require(count <= MOST, f"workerPoolSpecs: {count} replicas; {MOST} at most run on one machine")


def _check_pool(where: str, place: int, pool: Json) -> None:
    count = int(pool.get("replicaCount", 0))
    require(count >= 1, f"{where}.replicaCount: {count}; a pool needs at least one replica")
    require(place or count == 1, f"{where}.replicaCount: {count}; the first pool has one replica")
    machine = pool.get("machineSpec", {})
    kind = machine.get("machineType", "")
    require(MACHINES.fullmatch(kind), f"{where}.machineSpec.machineType: {kind!r} is not supported")
    accelerators = int(machine.get("acceleratorCount", 0))
    named = machine.get("acceleratorType", "ACCELERATOR_TYPE_UNSPECIFIED") != (
        "ACCELERATOR_TYPE_UNSPECIFIED"
    )
    require(
        named == bool(accelerators),
        f"{where}.machineSpec: acceleratorType and acceleratorCount go together",
    )
    package, container = pool.get("pythonPackageSpec", {}), pool.get("containerSpec", {})
    require(
        bool(package) != bool(container),
        f"{where}: give either pythonPackageSpec or containerSpec",
    )
    if package:
        for name in ("executorImageUri", "packageUris", "pythonModule"):
            require(package.get(name), f"{where}.pythonPackageSpec.{name}: required")
        for uri in package["packageUris"]:
            require(GCS.match(uri), f"{where}: {uri!r} does not begin with gs://BUCKET")
    else:
        require(container.get("imageUri"), f"{where}.containerSpec.imageUri: required")


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as the JSON form of google.protobuf.Timestamp."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def new_id() -> str:
    """A numeric resource id, as long as the service's own."""
    return str(secrets.randbelow(9 * 10**18) + 10**18)
