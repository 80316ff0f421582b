"""Requests checked against botocore's models, with the services' own words for what is wrong."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape

from local_cloud.amazon.protocols.errors import ServiceError

Json = dict[str, Any]

MOST_PROBLEMS = 100  # that one error lists

TYPES: dict[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "blob": (str,),  # base64
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "timestamp": (int, float),  # seconds since the epoch
}


@functools.cache
def service_model(name: str) -> ServiceModel:
    """botocore's model of a service."""
    return ServiceModel(Loader().load_service_model(name, "service-2"), name)


def check(operation: OperationModel, params: Json) -> None:
    """Raise SerializationException or ValidationException for what does not fit the model."""
    if operation.input_shape is None:
        return
    problems = list(islice(_problems(operation.input_shape, params, ""), MOST_PROBLEMS))
    if problems:
        many = f"{len(problems)} validation error{'s' if len(problems) > 1 else ''} detected: "
        raise ServiceError("ValidationException", many + "; ".join(problems))


def without_nulls(value: Any) -> Any:
    """Remove members that are null: to the services these are not given."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def _problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """Yield one sentence for each value that does not fit."""
    kinds = TYPES[shape.type_name]
    if not _is_one_of(value, kinds):
        where = path or "the request"
        message = f"{where}: {shape.type_name} expected, not {type(value).__name__}"
        raise ServiceError("SerializationException", message)
    yield from _constraints(shape, value, path)
    if isinstance(shape, StructureShape):
        for name in shape.required_members:
            if value.get(name) is None:
                yield _sentence(None, _join(path, name), "Member must not be null")
        for name, item in value.items():
            if item is None:
                continue
            if name not in shape.members:
                # The services ignore what they do not know; here a spelling mistake is said.
                raise ServiceError("SerializationException", f"{_join(path, name)}: unknown member")
            yield from _problems(shape.members[name], item, _join(path, name))
    elif isinstance(shape, ListShape):
        for place, item in enumerate(value, 1):
            yield from _problems(shape.member, item, f"{path}.{place}.member")
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield from _problems(shape.key, key, f"{path}.{key}.key")
            yield from _problems(shape.value, item, f"{path}.{key}.member")


def _is_one_of(value: Any, kinds: tuple[type, ...]) -> bool:
    """Return whether the value is of one of these types; True is no number."""
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)


def _constraints(shape: Shape, value: Any, path: str) -> Iterator[str]:
    rules = shape.metadata
    if (choices := rules.get("enum")) and value not in choices:
        yield _sentence(value, path, f"Member must satisfy enum value set: [{', '.join(choices)}]")
    pattern = rules.get("pattern")
    if pattern and not choices and not _python(pattern).fullmatch(value):
        constraint = f"Member must satisfy regular expression pattern: {pattern}"
        yield _sentence(value, path, constraint)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    size = value if is_number else len(value) if hasattr(value, "__len__") else 0
    what = "value" if is_number else "length"
    if "min" in rules and size < rules["min"]:
        yield _sentence(
            value, path, f"Member must have {what} greater than or equal to {rules['min']}"
        )
    if "max" in rules and size > rules["max"]:
        yield _sentence(
            value, path, f"Member must have {what} less than or equal to {rules['max']}"
        )


def _sentence(value: Any, path: str, constraint: str) -> str:
    shown = "null" if value is None else f"'{value}'"
    return f"Value {shown} at '{path}' failed to satisfy constraint: {constraint}"


def _join(path: str, name: str) -> str:
    """Join words in camelCase, as the services write members."""
    own = name[:1].lower() + name[1:]
    return f"{path}.{own}" if path else own


@functools.cache
def _python(pattern: str) -> re.Pattern[str]:
    """Compile the model's pattern, a Java one.

    One that Python does not know lets everything pass.
    """
    for java, ours in ((r"\p{L}", r"\w"), (r"\p{N}", r"\d"), (r"\p{Z}", r"\s")):
        pattern = pattern.replace(java, ours)
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error:
        return re.compile(".*", re.DOTALL)
