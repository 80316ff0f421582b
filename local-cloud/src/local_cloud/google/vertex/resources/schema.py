"""Requests checked against the service's own protos, and resources in their JSON form.

Source: google.cloud.aiplatform_v1.types, the messages of the real client library.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Iterator
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

from local_cloud.google.definitions import vertex_fields
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources import limits
from local_cloud.json_types import Json
from local_cloud.store import clock

__all__ = [
    "CustomJob",
    "CustomJobSpec",
    "HyperparameterTuningJob",
    "MergeVersionAliasesRequest",
    "Model",
    "TrainingPipeline",
    "UploadModelRequest",
]

# What the service fills in; a request that carries them is not wrong, they are not read.
OUTPUT_ONLY = ("name", "state", "createTime", "startTime", "endTime", "updateTime", "error", "etag")

# What is documented as required, and is not missed here: the SDK leaves an empty text out, and the
# metadata of pictures; where the others are used they are refused in other words.
NOT_MISSED = {
    ("EnvVar", "value"),
    ("Model", "display_name"),
    ("Dataset", "metadata"),
    ("StudySpec", "metrics"),
    ("StudySpec", "parameters"),
    ("RuntimeConfig", "gcs_output_directory"),
}


def parse_message(
    kind: Any,
    body: Any,
    where: str = "",
    *,
    output_only: tuple[str, ...] = OUTPUT_ONLY,
    is_patch: bool = False,
) -> Json:
    """`body` in the proto's canonical JSON (camelCase, names of enums), or INVALID_ARGUMENT.

    It may be written in snake_case or camelCase, with numbers or names of enums, and with whole
    numbers as floats: the SDK sends all of these. `where` is put before what is wrong. A patch
    need not have what the service requires.
    """
    message = kind.pb()()
    try:
        json_format.ParseDict(body, message)
    # Not all of its errors are its own: OverflowError for a number of 400 digits, AttributeError
    # for a list of values that is null.
    except (json_format.ParseError, OverflowError, AttributeError) as problem:
        what = str(problem).strip().splitlines()[0]
        place = f" at '{where}'" if where else ""
        raise ApiError(
            "INVALID_ARGUMENT", f"Invalid JSON payload received{place}: {what}"
        ) from None
    for field in () if is_patch else _find_missing(kind, message, where):
        raise ApiError("INVALID_ARGUMENT", f"{field}: required")
    for inner, each, place in _walk(kind, message, where):
        limits.check(inner, each, place)
    canonical: Json = json_format.MessageToDict(message)
    return {name: value for name, value in canonical.items() if name not in output_only}


def _find_missing(kind: Any, message: Any, where: str) -> Iterator[str]:
    """Yield the required fields that are empty in the messages inside one of this kind.

    What it needs itself is checked where it is used. A number may be 0.
    """
    for field in message.DESCRIPTOR.fields:
        place = ".".join(filter(None, [where, field.json_name]))
        inner, values = _inside(kind, message, field)
        for each in values:
            for one in each.DESCRIPTOR.fields:
                if one.name in find_required(inner) and _is_empty(each, one):
                    yield f"{place}.{one.json_name}"
            yield from _find_missing(inner, each, place)


def _walk(kind: Any, message: Any, where: str) -> Iterator[tuple[Any, Any, str]]:
    """Yield a message and all that is in it: the kind, the message, and its place."""
    yield kind, message, where
    for field in message.DESCRIPTOR.fields:
        inner, values = _inside(kind, message, field)
        for each in values:
            yield from _walk(inner, each, ".".join(filter(None, [where, field.name])))


def require_fields(kind: Any, resource: Json, where: str) -> None:
    """INVALID_ARGUMENT, unless a resource has itself what the service requires of its kind.

    resource: what parse_message returned. A number may be 0, which JSON leaves out.
    """
    for field in kind.pb().DESCRIPTOR.fields:
        must_be_there = field.name in find_required(kind) and field.json_name not in OUTPUT_ONLY
        if must_be_there and not _is_number(field):
            require(field.json_name in resource, f"{where}.{field.json_name}: required")


def _is_number(field: Any) -> bool:
    others = (field.CPPTYPE_STRING, field.CPPTYPE_ENUM, field.CPPTYPE_MESSAGE)
    return not field.is_repeated and field.cpp_type not in others


def _inside(kind: Any, message: Any, field: Any) -> tuple[Any, list[Any]]:
    """Return the messages in a field, which may be one, a list or a map, and their kind."""
    inner, value = kind.meta.fields[field.name].message, getattr(message, field.name)
    if field.message_type and field.message_type.GetOptions().map_entry:
        inner, value = inner.meta.fields["value"].message, value.values()
    if not hasattr(inner, "pb") or _is_empty(message, field):  # no message of this library
        return inner, []
    return inner, list(value) if field.is_repeated else [value]


def _is_empty(message: Any, field: Any) -> bool:
    if field.is_repeated:
        return not getattr(message, field.name)
    if field.message_type:
        return not message.HasField(field.name)
    return field.type == field.TYPE_STRING and not getattr(message, field.name)


@functools.cache
def find_required(kind: Any) -> frozenset[str]:
    """Return the names of a message's required fields, as the client library documents them."""
    names = vertex_fields.find_required(kind)
    if kind.__name__.endswith("Request"):
        texts = kind.pb().DESCRIPTOR.fields_by_name
        names = frozenset(name for name in names if texts[name].type != texts[name].TYPE_STRING)
    return frozenset(name for name in names if (kind.__name__, name) not in NOT_MISSED)


def with_text_args(spec: Any) -> Any:
    """Return a copy of free-form task inputs in which every argument of a program is text.

    The SDK lets callers write `args=["--epochs", 50]` and sends the number, as a float.
    """
    if isinstance(spec, list):
        return [with_text_args(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    inputs = {name: with_text_args(value) for name, value in spec.items()}
    if isinstance(args := inputs.get("args"), list):
        inputs["args"] = [f"{arg:.15g}" if isinstance(arg, float) else arg for arg in args]
    return inputs


def snake_case(kind: Any, resource: Json) -> Json:
    """Return the same resource with the proto's own field names."""
    message = kind.pb()()
    json_format.ParseDict(resource, message)
    converted: Json = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return converted


def require(fulfilled: object, message: str) -> None:
    """INVALID_ARGUMENT with this message unless the condition is fulfilled."""
    if not fulfilled:
        raise ApiError("INVALID_ARGUMENT", message)


def timestamp(seconds: float) -> str:
    """Write seconds since the epoch as the JSON form of google.protobuf.Timestamp."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def timestamp_after(resource: Json) -> str:
    """Return the timestamp of now, or the resource's latest if the clock has been set back."""
    times = ("createTime", "startTime", "endTime")
    return max(timestamp(clock.now_after()), *(str(resource.get(name, "")) for name in times))


def new_id() -> str:
    """Return a numeric resource id, as long as the service's own."""
    return str(secrets.randbelow(9 * 10**18) + 10**18)
