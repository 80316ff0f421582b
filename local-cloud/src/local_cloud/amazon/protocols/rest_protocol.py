"""The REST protocol with JSON bodies (rest-json): SageMaker Runtime speaks it, among others.

Which operation a request is, and where each of its parameters stands (in the path, the query, a
header or the body), is in botocore's model of the service.
"""

from __future__ import annotations

import inspect
import json
import re
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from botocore.model import OperationModel, Shape
from starlette.requests import Request
from starlette.responses import Response

from local_cloud.amazon.protocols.errors import ServiceError, not_implemented, too_large
from local_cloud.amazon.protocols.model import check, service_model, without_nulls
from local_cloud.amazon.protocols.rest_parameters import parameters, text
from local_cloud.http import bodies
from local_cloud.json_types import Json

Operation = Callable[[Json], Json | Awaitable[Json]]


@dataclass(frozen=True)
class Rule:
    """Which requests are of an operation."""

    operation: OperationModel
    path: re.Pattern[str]

    def takes(self, method: str, path: str) -> bool:
        """Return whether a request with this method and path is."""
        return method == self.operation.http["method"] and bool(self.path.fullmatch(path))


class RestService:
    """A service of this protocol: operations that take and return what botocore's model says.

    A body that is no JSON (the model's blob payload) is `bytes`. An operation may be a coroutine;
    it runs on the server's loop.
    """

    def __init__(
        self, model: str, operations: Mapping[str, Operation], largest: int = bodies.LARGEST
    ) -> None:
        """`model` is botocore's name of the service; largest: bytes of a body."""
        self._largest = largest
        self.model = service_model(model)
        self.signing_name: str = self.model.signing_name
        self.operations = operations
        self.rules = [_rule(self.model.operation_model(n)) for n in self.model.operation_names]

    def takes(self, method: str, path: str) -> bool:
        """Return whether the model has an operation of this method and path."""
        return any(rule.takes(method, path) for rule in self.rules)

    async def answer(self, request: Request, path: str) -> Response:
        """Answer a request that this service takes; errors are answers too."""
        rule = next(rule for rule in self.rules if rule.takes(request.method, path))
        try:
            return await self._call(rule, request, path)
        except bodies.TooLarge as problem:
            return render(too_large(problem))
        except ServiceError as problem:
            return render(problem)

    async def _call(self, rule: Rule, request: Request, path: str) -> Response:
        operation = rule.operation
        if operation.name not in self.operations:
            raise not_implemented(f"{self.model.service_id} {operation.name}")
        given = parameters(operation, request.query_params, request.headers, unreadable=_unreadable)
        match = rule.path.fullmatch(path)
        assert match
        given |= {name: unquote(value) for name, value in match.groupdict().items()}
        body = await bodies.read(request, self._largest)
        params = await bodies.process(body, lambda read: _with_body(operation, given, read))
        result = self.operations[operation.name](params)
        if inspect.isawaitable(result):
            result = await result
        return _respond(operation, result)


def _rule(operation: OperationModel) -> Rule:
    """Return the model's path, "/endpoints/{EndpointName}" say, as a regular expression."""
    path = operation.http["requestUri"].partition("?")[0]
    parts = re.split(r"\{(\w+)(\+?)\}", path)
    pattern = re.escape(parts[0])
    for name, greedy, literal in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pattern += f"(?P<{name}>{'.+' if greedy else '[^/]+'})" + re.escape(literal)
    return Rule(operation, re.compile(pattern))


def _with_body(operation: OperationModel, parameters: Json, body: bytes) -> Json:
    """Return a request's parameters, those in the body too; all fit the model."""
    parameters = parameters | _body(operation, body)
    # A blob's bytes are checked by nobody: the model only says that they may be there.
    check(operation, {name: "" if isinstance(v, bytes) else v for name, v in parameters.items()})
    params: Json = without_nulls(parameters)
    return params


def _body(operation: OperationModel, body: bytes) -> Json:
    """Return the parameters in the body: one that is all of it, or members of a JSON object."""
    shape = operation.input_shape
    payload = shape.serialization.get("payload") if shape else None
    if shape and payload and shape.members[payload].type_name in ("blob", "string"):
        blob = shape.members[payload].type_name == "blob"
        return {payload: body if blob else body.decode(errors="replace")}
    if not body:
        return {}
    try:
        content = bodies.parse(body)
    except ValueError as problem:
        raise ServiceError("SerializationException", f"no JSON: {problem}") from None
    if payload:
        return {payload: content}
    if not isinstance(content, dict):
        raise ServiceError("SerializationException", "the request is no JSON object")
    return content


def _unreadable(name: str, _: str, kind: str) -> ServiceError:
    return ServiceError("SerializationException", f"{name}: {kind} expected")


def _respond(operation: OperationModel, result: Json) -> Response:
    """Answer with the result, each member where the model has it."""
    shape = operation.output_shape
    members: Mapping[str, Shape] = shape.members if shape else {}
    status, content = int(operation.http.get("responseCode", 200)), dict(result)
    headers = {"x-amzn-RequestId": str(uuid.uuid4())}
    for name, member, value in _outside(members, result):
        content.pop(name)
        if member.serialization["location"] == "statusCode":
            status = value
        else:
            headers[member.serialization.get("name", name)] = text(member, value)
    payload = shape.serialization.get("payload") if shape else None
    body: Any = content.get(payload) if payload else content
    if not isinstance(body, bytes):
        headers.setdefault("content-type", "application/json")
        body = json.dumps(body or {}).encode()
    return Response(body, status, headers)


def _outside(members: Mapping[str, Shape], result: Json) -> Iterator[tuple[str, Shape, Any]]:
    """Yield the members of a result that do not stand in the body."""
    for name, value in result.items():
        if members[name].serialization.get("location") in ("header", "statusCode"):
            yield name, members[name], value


def render(problem: ServiceError) -> Response:
    """Return what the SDKs turn into a ClientError."""
    headers = {"x-amzn-RequestId": str(uuid.uuid4()), "x-amzn-ErrorType": problem.code}
    content = json.dumps({"message": str(problem)} | problem.members)
    return Response(content, problem.status, headers, "application/json")
