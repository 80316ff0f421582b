"""Requests checked against botocore's models, with the services' own words for what is wrong."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby, islice
from operator import pos
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.json_types import Json

Rule = tuple[str, Callable[[Any], bool]]  # in the services' words, and whether a value keeps it

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
CONTAINERS = ("structure", "list", "map")
NUMBERS = ("integer", "long", "float", "double")
ASSIGNED = (*range(0x40000), *range(0xE0000, 0xE1000))  # the planes of Unicode with characters
CATEGORY = re.compile(r"\\p\{([A-Z])\}")  # of Unicode, inside of brackets


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
    _check_type(shape, value, path)
    yield from (_sentence(value, path, rule) for rule in _broken_rules(shape, value))
    if isinstance(shape, StructureShape):
        yield from _problems_of_members(shape, value, path)
    elif isinstance(shape, ListShape):
        yield from _problems_of_items(shape.member, value, path)
    elif isinstance(shape, MapShape):
        keys = [*value]
        yield from _problems_of_texts(shape.key, keys, path, whole=value, words="Map keys must")
        if shape.value.type_name in CONTAINERS:
            for key, item in value.items():
                yield from _problems(shape.value, item, f"{path}.{key}.member")
        else:
            items = [*value.values()]
            words = "Map value must"
            yield from _problems_of_texts(shape.value, items, path, whole=value, words=words)


def _problems_of_members(shape: StructureShape, value: Json, path: str) -> Iterator[str]:
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


def _problems_of_items(member: Shape, value: list[Any], path: str) -> Iterator[str]:
    if member.type_name not in CONTAINERS:
        yield from _problems_of_texts(member, value, path, whole=value, words="Member must")
        return
    for place, item in enumerate(value, 1):
        yield from _problems(member, item, f"{path}.{place}.member")


def _problems_of_texts(
    shape: Shape, items: list[Any], path: str, *, whole: Any, words: str
) -> Iterator[str]:
    """Yield a sentence if one of a list's or a map's texts or numbers does not fit.

    The services name the whole list or map, and all rules for what is in it: observed in public
    reports of SageMaker's hyperParameters and of other services' lists (read November 2026).
    """
    for item in items:
        _check_type(shape, item, path)
    if any(next(_broken_rules(shape, item), "") for item in items):
        rules = ", ".join(words for words, _ in _rules(shape))
        yield _sentence(whole, path, f"{words} satisfy constraint: [{rules}]")


def _check_type(shape: Shape, value: Any, path: str) -> None:
    """Raise SerializationException for a value of another type; True is no number."""
    kinds = TYPES[shape.type_name]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        where = path or "the request"
        message = f"{where}: {shape.type_name} expected, not {type(value).__name__}"
        raise ServiceError("SerializationException", message)


def _broken_rules(shape: Shape, value: Any) -> Iterator[str]:
    return (words for words, holds in _rules(shape) if not holds(value))


def _rules(shape: Shape) -> list[Rule]:
    """Return the rules for a value of this shape, in the services' words and order."""
    rules = shape.metadata
    if choices := rules.get("enum"):
        return [
            (
                f"Member must satisfy enum value set: [{', '.join(choices)}]",
                lambda value: value in choices,
            )
        ]
    of_shape: list[Rule] = []
    what, size = ("value", pos) if shape.type_name in NUMBERS else ("length", len)
    if (most := rules.get("max")) is not None:
        words = f"Member must have {what} less than or equal to {most}"
        of_shape.append((words, lambda value: size(value) <= most))
    if (least := rules.get("min")) is not None:
        words = f"Member must have {what} greater than or equal to {least}"
        of_shape.append((words, lambda value: size(value) >= least))
    if pattern := rules.get("pattern"):
        words = f"Member must satisfy regular expression pattern: {pattern}"
        of_shape.append((words, lambda value: bool(_python(pattern).fullmatch(value))))
    return of_shape


def _sentence(value: Any, path: str, constraint: str) -> str:
    shown = "null" if value is None else f"'{_java(value)}'"
    return f"Value {shown} at '{path}' failed to satisfy constraint: {constraint}"


def _java(value: Any) -> str:
    """Return a value as the services show it: as Java's toString writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}={_java(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_java, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _join(path: str, name: str) -> str:
    """Join words in camelCase, as the services write members."""
    own = name[:1].lower() + name[1:]
    return f"{path}.{own}" if path else own


@functools.cache
def _python(pattern: str) -> re.Pattern[str]:
    """Compile the model's pattern, a Java one: its classes such as \\w are of ASCII letters.

    One that Python does not know lets everything pass. A dot takes a line's end as well, which
    Java's does not: whether a service refuses one is not known.
    """
    pattern = pattern.replace(r"\p{Alnum}", "a-zA-Z0-9")
    for kind in set(CATEGORY.findall(pattern)):
        pattern = pattern.replace(f"\\p{{{kind}}}", _characters(kind))
    try:
        return re.compile(pattern, re.DOTALL | re.ASCII)
    except re.error:
        return re.compile(".*", re.DOTALL)


@functools.cache
def _characters(kind: str) -> str:
    """Return Unicode's characters of a general category, L say, as ranges inside of brackets."""
    runs = groupby(ASSIGNED, key=lambda code: unicodedata.category(chr(code))[0] == kind)
    groups = [[chr(code) for code in run] for inside, run in runs if inside]
    return "".join(f"{re.escape(run[0])}-{re.escape(run[-1])}" for run in groups)
