"""A request's parameters, by botocore's model: from path, query, headers and a body of XML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree

from botocore.model import ListShape, OperationModel, Shape, StructureShape

from local_cloud.aws.model import Json
from local_cloud.s3.errors import Refusal, invalid, malformed


def parameters(
    operation: OperationModel, query: Mapping[str, str], headers: Mapping[str, str]
) -> Json:
    """What is in query and headers, under the model's names."""
    found: Json = {}
    shape = operation.input_shape
    for name, member in shape.members.items() if shape else ():
        where = member.serialization
        key = where.get("name", name)
        match where.get("location"):
            case "querystring" if key in query:
                found[name] = value(member, query[key], key)
            case "header" if key.lower() in headers:
                found[name] = value(member, headers[key.lower()], key)
            case "headers":
                found[name] = {
                    header[len(key) :]: text
                    for header, text in headers.items()
                    if header.startswith(key.lower())
                }
    return found


def value(shape: Shape, text: str, key: str) -> Any:
    """A parameter of this shape from its text. Raises Refusal."""
    match shape.type_name:
        case "integer" | "long":
            try:
                return int(text)
            except ValueError:
                message = f"Provided {key} not an integer or within integer range"
                raise invalid(message, ArgumentName=key, ArgumentValue=text) from None
        case "boolean":
            return text.lower() == "true"
        case "timestamp":
            return _time(text)
        case "list":
            return [part.strip() for part in text.split(",")]
        case _:
            return text


def document(operation: OperationModel, body: bytes) -> Json:
    """The parameter that the body is, if it is XML; {} where the operation takes none."""
    shape = operation.input_shape
    name = shape.serialization.get("payload") if shape else None
    if name is None or not isinstance(member := shape.members[name], StructureShape):
        return {}
    if not body.strip():
        if name in shape.required_members:
            raise Refusal("MissingRequestBodyError", "Request Body is empty")
        return {}
    root = parse(body)
    if _tag(root) != member.serialization.get("name", name):
        raise malformed()
    return {name: _structure(member, root)}


def parse(body: bytes) -> ElementTree.Element:
    """The root of a document in UTF-8 without a DTD, so that no entity is there to expand."""
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise malformed()
    try:
        return ElementTree.fromstring(body, ElementTree.XMLParser(encoding="utf-8"))
    except (ElementTree.ParseError, ValueError):
        raise malformed() from None


def _structure(shape: StructureShape, element: ElementTree.Element) -> Json:
    names = {_list_name(name, member): (name, member) for name, member in shape.members.items()}
    found: Json = {}
    for child in element:
        if _tag(child) not in names:
            raise malformed()
        name, member = names[_tag(child)]
        if isinstance(member, ListShape) and member.serialization.get("flattened"):
            found.setdefault(name, []).append(_value(member.member, child))
        else:
            found[name] = _value(member, child)
    if not found.keys() >= set(shape.required_members):
        raise malformed()
    return found


def _value(shape: Shape, element: ElementTree.Element) -> Any:
    if isinstance(shape, StructureShape):
        return _structure(shape, element)
    if isinstance(shape, ListShape):
        return [_value(shape.member, child) for child in element]
    try:
        return value(shape, element.text or "", _tag(element))
    except Refusal:
        raise malformed() from None


def _list_name(name: str, member: Shape) -> str:
    """The tag of a member; a flattened list has its elements' tag."""
    if isinstance(member, ListShape) and member.serialization.get("flattened"):
        return str(
            member.serialization.get("name") or member.member.serialization.get("name", name)
        )
    return str(member.serialization.get("name", name))


def _tag(element: ElementTree.Element) -> str:
    """Without its namespace."""
    return element.tag.rpartition("}")[2]


def _time(text: str) -> float | None:
    """Seconds since the epoch; None for what is no time, which headers' readers ignore."""
    parsers: tuple[Callable[[str], datetime], ...] = (
        parsedate_to_datetime,
        datetime.fromisoformat,
    )
    for parse_time in parsers:
        try:
            found = parse_time(text)
        except ValueError:
            continue
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return None
