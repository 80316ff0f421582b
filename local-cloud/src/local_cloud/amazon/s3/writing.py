"""A result as an answer, by botocore's model: status, headers and a body of XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

from botocore.model import ListShape, OperationModel, Shape, StructureShape
from starlette.responses import Response

from local_cloud.amazon.s3.errors import invalid, text
from local_cloud.json_types import Json

_SPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
# The tags of bodies; the model does not have them, for its readers do not ask.
_ROOTS = {
    "ListBuckets": "ListAllMyBucketsResult",
    "ListObjects": "ListBucketResult",
    "ListObjectsV2": "ListBucketResult",
    "ListObjectVersions": "ListVersionsResult",
    "CreateMultipartUpload": "InitiateMultipartUploadResult",
    "DeleteObjects": "DeleteResult",
    "GetBucketTagging": "Tagging",
    "GetObjectTagging": "Tagging",
    "GetBucketVersioning": "VersioningConfiguration",
    "GetObjectAttributes": "GetObjectAttributesResponse",
}


_STATUS = {"PutBucketTagging": 204}  # where the model says nothing of it


def answer(operation: OperationModel, result: Json) -> Response:
    """Answer a call that succeeded."""
    status = _STATUS.get(operation.name) or operation.http.get("responseCode", 200)
    shape = operation.output_shape
    if shape is None:
        return Response(status_code=status)
    head = headers(operation, result)
    if payload := shape.serialization.get("payload"):
        inner = shape.members[payload]
        return _xml(status, head, inner.name, content=_content(inner, result[payload]))
    if operation.name == "GetBucketLocation":  # the model has an element around it, S3 has not
        (name,) = shape.members
        return _xml(status, head, name, content=_content(shape.members[name], result[name]))
    inside = {name: item for name, item in result.items() if _is_inside(shape, name)}
    if any(_is_inside(shape, name) for name in shape.members):
        root = _ROOTS.get(operation.name, f"{operation.name}Result")
        return _xml(status, head, root, content=_content(shape, inside))
    if operation.name == "HeadBucket":
        head["content-type"] = "application/xml"
    return Response(status_code=status, headers=head)


def _xml(status: int, head: dict[str, str], root: str, *, content: Iterator[str]) -> Response:
    declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
    body = f'{declaration}<{root} xmlns="{_SPACE}">{"".join(content)}</{root}>'
    return Response(body, status, head, "application/xml")


# What no header may have; a request's cannot have them either, except in its query.
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def headers(operation: OperationModel, result: Json) -> dict[str, str]:
    """Return those parts of a result that travel in headers."""
    headers: dict[str, str] = {}
    for name, item in result.items():
        member = operation.output_shape.members[name]
        where = member.serialization
        if where.get("location") == "header" and item is not None:
            headers[where["name"].lower()] = _header(name, _text(member, item, is_header=True))
        elif where.get("location") == "headers":
            for key, each in item.items():
                headers[where["name"] + key] = _header(name, each)
    return headers


def _header(name: str, value: str) -> str:
    """Encode a header, which travels as Latin-1; what does not fit there is sent as UTF-8."""
    if CONTROL.search(value):
        raise invalid(f"Invalid value for {name}: {value!r}")
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode().decode("latin-1")
    return value


def _is_inside(shape: StructureShape, name: str) -> bool:
    """Return whether a member is a part of the body."""
    return shape.members[name].serialization.get("location") is None


def _content(shape: Shape, value: Any) -> Iterator[str]:
    """Yield what is between the tags."""
    if not isinstance(shape, StructureShape):
        yield text(_text(shape, value))
        return
    for name, item in value.items():
        if item is not None:
            yield from _member(name, shape.members[name], item)


def _member(name: str, shape: Shape, value: Any) -> Iterator[str]:
    tag = shape.serialization.get("name", name)
    if not isinstance(shape, ListShape):
        yield f"<{tag}>{''.join(_content(shape, value))}</{tag}>"
        return
    is_flat = shape.serialization.get("flattened")
    inner = shape.member.serialization.get("name") or (tag if is_flat else "member")
    items = "".join(f"<{inner}>{''.join(_content(shape.member, item))}</{inner}>" for item in value)
    yield items if is_flat else f"<{tag}>{items}</{tag}>"


def _text(shape: Shape, value: Any, *, is_header: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if shape.type_name == "timestamp" and not isinstance(value, str):
        if is_header:
            return formatdate(value, usegmt=True)
        moment = datetime.fromtimestamp(value, UTC)
        return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    return str(value)
