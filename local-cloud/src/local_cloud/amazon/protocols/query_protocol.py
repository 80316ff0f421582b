"""The query protocol: forms in, XML out; IAM and STS speak it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape

from botocore.model import ListShape, MapShape, Shape, StructureShape
from starlette.responses import Response

from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.protocols.model import service_model
from local_cloud.json_types import Json

Form = Mapping[str, str]
Operation = Callable[[Form], Json]


class QueryService:
    """A service of this protocol: operations take the form and return what the model says."""

    def __init__(self, model: str, operations: Mapping[str, Operation]) -> None:
        """`model` is botocore's name of the service."""
        self.model = service_model(model)
        self.version: str = self.model.metadata["apiVersion"]
        self.operations = operations

    def answer(self, form: Form) -> Response:
        """Answer a request; errors are answers too."""
        name = form.get("Action", "")
        try:
            if name not in self.operations:
                raise not_implemented(f"{self.model.service_id} {name}")
            result = self.operations[name](form)
        except ServiceError as problem:
            return render(problem)
        shape = self.model.operation_model(name).output_shape
        inner = "".join(_xml(f"{name}Result", shape, result)) if shape else ""
        request = f"<ResponseMetadata><RequestId>{uuid.uuid4()}</RequestId></ResponseMetadata>"
        space = self.model.metadata["xmlNamespace"]
        body = f'<{name}Response xmlns="{space}">{inner}{request}</{name}Response>'
        return _respond(200, body)


def members(form: Form, name: str) -> list[str]:
    """Return a list in a form: Name.member.1, Name.member.2, …"""
    values: list[str] = []
    while (key := f"{name}.member.{len(values) + 1}") in form:
        values.append(form[key])
    return values


def _xml(tag: str, shape: Shape, value: Any) -> Iterator[str]:
    """Yield the value as an element, as the query protocol writes its shape."""
    yield f"<{tag}>"
    if isinstance(shape, StructureShape):
        for name, item in value.items():
            yield from _xml(name, shape.members[name], item)
    elif isinstance(shape, ListShape):
        for item in value:
            yield from _xml(shape.member.serialization.get("name", "member"), shape.member, item)
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield "<entry>"
            yield from _xml("key", shape.key, key)
            yield from _xml("value", shape.value, item)
            yield "</entry>"
    elif shape.type_name == "timestamp":
        yield datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    elif isinstance(value, bool):
        yield str(value).lower()
    else:
        yield escape(str(value))
    yield f"</{tag}>"


def render(problem: ServiceError) -> Response:
    """Return what the SDKs turn into a ClientError."""
    inner = f"<Code>{problem.code}</Code><Message>{escape(str(problem))}</Message>"
    return _respond(
        problem.status,
        f"<ErrorResponse><Error><Type>Sender</Type>{inner}</Error>"
        f"<RequestId>{uuid.uuid4()}</RequestId></ErrorResponse>",
    )


def _respond(status: int, body: str) -> Response:
    return Response(body, status, media_type="text/xml")
