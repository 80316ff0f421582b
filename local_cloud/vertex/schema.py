"""Requests checked against the service's own protos, and resources in their JSON form.

Source: google.cloud.aiplatform_v1.types, the messages of the real client library.
"""

from __future__ import annotations

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

from local_cloud import clock
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


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as the JSON form of google.protobuf.Timestamp."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def timestamp_after(resource: Json) -> str:
    """Return the timestamp of now, or the resource's latest if the clock has been set back."""
    times = ("createTime", "startTime", "endTime")
    return max(timestamp(clock.now_after()), *(str(resource.get(name, "")) for name in times))


def new_id() -> str:
    """A numeric resource id, as long as the service's own."""
    return str(secrets.randbelow(9 * 10**18) + 10**18)
