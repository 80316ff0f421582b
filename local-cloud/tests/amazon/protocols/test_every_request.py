"""Requests to every operation of SageMaker, made from botocore's model: what fits it passes.

With one rule broken, the rule is named together with the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.protocols.json_protocol import JsonService
from local_cloud.amazon.protocols.model import check
from local_cloud.amazon.sagemaker import service as sagemaker
from local_cloud.json_types import Json
from local_cloud.platform import Platform

LONG = 40  # characters that a text here has beyond the least
KNOWN: dict[str, st.SearchStrategy[Any]] = {}  # by the shape's name
SLOW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
# Unicode's categories, as Java's patterns write them and Hypothesis knows them.
NAME = "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
# Patterns of most names, URIs and tags: a snowman is in none of them.
PLAIN = (NAME, r"([\p{L}\p{Z}\p{N}_.:/=+\-@]*)", r"[a-zA-Z0-9\-]+")
CATEGORY = re.compile(r"\\p\{(\w+)\}")


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> list[OperationModel]:
    """Every operation of SageMaker that the local cloud has."""
    platform = Platform.of(tmp_path_factory.mktemp("platform"), {})
    try:
        api, *_ = sagemaker.service(platform).apis
        assert isinstance(api, JsonService)
        return [api.model.operation_model(name) for name in sorted(api.operations)]
    finally:
        platform.close_records()


# ---- values that keep all rules -----------------------------------------------------------------
def text(shape: Shape) -> st.SearchStrategy[str]:
    rules = shape.metadata
    if choices := rules.get("enum"):
        return st.sampled_from(choices)
    least = rules.get("min", 0)
    most = min(rules.get("max", least + LONG), least + LONG)
    pattern = rules.get("pattern", "")
    if kinds := CATEGORY.findall(pattern):
        if "Alnum" in kinds or "$" in pattern:  # an ARN; and one that is no pattern in Python
            return st.nothing()
        letters = st.characters(categories=kinds)
        return st.text(letters, min_size=least, max_size=most)
    if not pattern or "\\uD7FF" in pattern:
        return st.text("abc", min_size=least, max_size=most)
    fits = st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True)
    return fits.filter(lambda value: least <= len(value) <= most)


def value(shape: Shape) -> st.SearchStrategy[Any]:
    if shape.name not in KNOWN:
        KNOWN[shape.name] = st.deferred(lambda: _value(shape))
    return KNOWN[shape.name]


def _value(shape: Shape) -> st.SearchStrategy[Any]:
    rules = shape.metadata
    match shape:
        case StructureShape():
            return structure(shape)
        case ListShape():
            least = rules.get("min", 0)
            return st.lists(value(shape.member), min_size=least, max_size=max(least, 1))
        case MapShape():
            least = rules.get("min", 0)
            inside = value(shape.value)
            return st.dictionaries(text(shape.key), inside, min_size=least, max_size=max(least, 2))
    match shape.type_name:
        case "integer" | "long":
            return st.integers(rules.get("min", -100), rules.get("max", 2**31))
        case "float" | "double" | "timestamp":
            return st.floats(rules.get("min", -1e9), rules.get("max", 1e9))
        case "boolean":
            return st.booleans()
        case _:
            return text(shape)


@st.composite
def structure(draw: st.DrawFn, shape: StructureShape) -> Json:
    """What is required, and a few of the other members."""
    others = sorted(set(shape.members) - set(shape.required_members))
    chosen = draw(st.lists(st.sampled_from(others), max_size=2, unique=True)) if others else []
    return {name: draw(value(shape.members[name])) for name in [*shape.required_members, *chosen]}


@SLOW
@given(data=st.data())
def test_what_fits_the_model_passes(operations: list[OperationModel], data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(operations))
    check(operation, data.draw(value(_input(operation))))


@SLOW
@given(data=st.data())
def test_a_broken_rule_is_named_with_its_place(
    operations: list[OperationModel], data: st.DataObject
) -> None:
    operation = data.draw(st.sampled_from(operations))
    request = data.draw(value(_input(operation)))
    places = list(_places(_input(operation), request, "", request, ""))
    assume(places)
    place = data.draw(st.sampled_from(places))
    place.inside[place.key] = place.broken
    with pytest.raises(ServiceError) as caught:
        check(operation, request)
    assert caught.value.code == "ValidationException"
    assert f"at '{place.path}' failed to satisfy constraint: " in str(caught.value)
    assert place.words in str(caught.value)


def _input(operation: OperationModel) -> StructureShape:
    assert isinstance(operation.input_shape, StructureShape)
    return operation.input_shape


# ---- rules that can be broken -------------------------------------------------------------------
class Place(NamedTuple):
    """Where a value stands in a request, one that breaks a rule, and what is to be said of it."""

    inside: Any
    key: Any
    path: str
    broken: Any
    words: str


def _places(shape: Shape, value: Any, path: str, inside: Any, key: Any) -> Iterator[Place]:
    """Yield each rule for a value and for what is in it; path: as the services write it."""
    if path:
        for broken, words in _broken(shape, value):
            yield Place(inside, key, path, broken, words)
    match shape:
        case StructureShape():
            for name, item in value.items():
                own = name[0].lower() + name[1:]
                yield from _places(
                    shape.members[name], item, f"{path}.{own}".strip("."), value, name
                )
        case ListShape():
            for place, item in enumerate(value):
                there = f"{path}.{place + 1}.member" if _holds_more(shape.member) else path
                yield from _places(shape.member, item, there, value, place)
        case MapShape():
            for name, item in value.items():
                there = f"{path}.{name}.member" if _holds_more(shape.value) else path
                yield from _places(shape.value, item, there, value, name)


def _holds_more(shape: Shape) -> bool:
    return isinstance(shape, StructureShape | ListShape | MapShape)


def _broken(shape: Shape, value: Any) -> Iterator[tuple[Any, str]]:
    rules = shape.metadata
    least, most = rules.get("min"), rules.get("max")
    if "enum" in rules:
        yield "no choice", "Member must satisfy enum value set: ["
    elif shape.type_name == "string":
        if most is not None and most < 100_000:
            yield "a" * (most + 1), f"Member must have length less than or equal to {most}"
        if least:
            yield "a" * (least - 1), f"Member must have length greater than or equal to {least}"
        if rules.get("pattern") in PLAIN:
            yield (
                "\N{SNOWMAN}",
                f"Member must satisfy regular expression pattern: {rules['pattern']}",
            )
    elif shape.type_name in ("integer", "long", "float"):
        if most is not None:
            yield most + 1, f"Member must have value less than or equal to {most}"
        if least is not None:
            yield least - 1, f"Member must have value greater than or equal to {least}"
    elif isinstance(shape, ListShape):
        if value and most is not None and most < 1000:
            yield value * (most + 1), f"Member must have length less than or equal to {most}"
        if least:
            yield value[: least - 1], f"Member must have length greater than or equal to {least}"
    elif isinstance(shape, MapShape) and least:
        yield {}, f"Member must have length greater than or equal to {least}"
