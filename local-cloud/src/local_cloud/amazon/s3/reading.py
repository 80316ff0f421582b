"""A request's parameters, by botocore's model: from path, query, headers and a body of XML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from botocore.model import ListShape, OperationModel, Shape, StructureShape

from local_cloud.amazon.protocols import rest_parameters
from local_cloud.amazon.s3.errors import Refusal, invalid, invalid_xml
from local_cloud.json_types import Json


def parameters(
    operation: OperationModel, query: Mapping[str, str], headers: Mapping[str, str]
) -> Json:
    """Return what is in query and headers, under the model's names. Raises Refusal."""
    return rest_parameters.parameters(operation, query, headers, unreadable=_no_number)


def _no_number(key: str, text: str, _: str) -> Refusal:
    message = f"Provided {key} not an integer or within integer range"
    return invalid(message, ArgumentName=key, ArgumentValue=text)


def document(operation: OperationModel, body: bytes) -> Json:
    """Return the parameter that the body is, if it is XML; {} where the operation takes none."""
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
        raise invalid_xml()
    return {name: _structure(member, root)}


def parse(body: bytes) -> ElementTree.Element:
    """Return the root of a document in UTF-8 without a DTD: no entity is there to expand."""
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise invalid_xml()
    try:
        return ElementTree.fromstring(body, ElementTree.XMLParser(encoding="utf-8"))
    except (ElementTree.ParseError, ValueError):
        raise invalid_xml() from None


def _structure(shape: StructureShape, element: ElementTree.Element) -> Json:
    names = {_list_name(name, member): (name, member) for name, member in shape.members.items()}
    structure: Json = {}
    for child in element:
        if _tag(child) not in names:
            raise invalid_xml()
        name, member = names[_tag(child)]
        if isinstance(member, ListShape) and member.serialization.get("flattened"):
            structure.setdefault(name, []).append(_value(member.member, child))
        else:
            structure[name] = _value(member, child)
    if not structure.keys() >= set(shape.required_members):
        raise invalid_xml()
    return structure


def _value(shape: Shape, element: ElementTree.Element) -> Any:
    if isinstance(shape, StructureShape):
        return _structure(shape, element)
    if isinstance(shape, ListShape):
        return [_value(shape.member, child) for child in element]
    try:
        return rest_parameters.value(
            shape, element.text or "", _tag(element), unreadable=_no_number
        )
    except Refusal:
        raise invalid_xml() from None


def _list_name(name: str, member: Shape) -> str:
    """Return the tag of a member; a flattened list has its elements' tag."""
    if isinstance(member, ListShape) and member.serialization.get("flattened"):
        return str(
            member.serialization.get("name") or member.member.serialization.get("name", name)
        )
    return str(member.serialization.get("name", name))


def _tag(element: ElementTree.Element) -> str:
    """Return the tag without its namespace."""
    return element.tag.rpartition("}")[2]
