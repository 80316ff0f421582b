"""The JSON protocol (awsJson1_1): SageMaker and CloudWatch Logs speak it."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Callable, Collection, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.protocols.model import check, service_model, without_nulls
from local_cloud.engine.spec import NoSuchJob
from local_cloud.http import bodies
from local_cloud.json_types import Json

Operation = Callable[[Json], Json]
# How the names begin of operations that only read, and may read all that there is.
READING = ("List", "Search", "Query")


class JsonService:
    """A service of this protocol: operations that take and return what botocore's model says.

    Times are seconds since the epoch, in both directions. Operations run on the loop. Those run in
    a thread that only read, or that `in_thread` names, for they have long work to do and need
    nothing of the loop's; a large body is read there for the others too.
    """

    def __init__(
        self, model: str, operations: Mapping[str, Operation], *, in_thread: Collection[str] = ()
    ) -> None:
        """`model` is botocore's name of the service."""
        self.model = service_model(model)
        self.target: str = self.model.metadata["targetPrefix"]
        self.operations = operations
        self._in_thread = in_thread

    async def respond(self, operation: str, body: bytes) -> Response:
        """Answer a request where others do not wait for it; errors are answers too."""
        if operation in self._in_thread or operation.startswith(READING):
            try:
                return await run_in_threadpool(self.answer, operation, body)
            except NoSuchJob:  # deleted while it was read: on the loop nothing is
                return self.answer(operation, body)
        try:
            params = await bodies.process(body, functools.partial(self._read, operation))
            return _render(200, self.operations[operation](params))
        except ServiceError as problem:
            return render(problem)

    def answer(self, operation: str, body: bytes) -> Response:
        """Answer a request; errors are answers too."""
        try:
            params = self._read(operation, body)
            return _render(200, self.operations[operation](params))
        except ServiceError as problem:
            return render(problem)

    def _read(self, operation: str, body: bytes) -> Json:
        """Return the parameters of a request, which fit the model."""
        if operation not in self.model.operation_names:
            raise ServiceError("UnknownOperationException", f"there is no operation {operation}")
        if operation not in self.operations:
            raise not_implemented(f"{self.model.service_id} {operation}")
        try:
            params = bodies.parse(body or b"{}")
        except ValueError as problem:
            raise ServiceError("SerializationException", f"no JSON: {problem}") from None
        if not isinstance(params, dict):
            raise ServiceError("SerializationException", "the request is no JSON object")
        check(self.model.operation_model(operation), params)
        parameters: Json = without_nulls(params)
        return parameters


def render(problem: ServiceError) -> Response:
    """Return what the SDKs turn into a ClientError."""
    return _render(problem.status, {"__type": problem.code, "message": str(problem)})


def _render(status: int, content: Json) -> Response:
    headers = {"x-amzn-RequestId": str(uuid.uuid4())}
    media_type = "application/x-amz-json-1.1"
    return Response(json.dumps(content), status, headers, media_type)
