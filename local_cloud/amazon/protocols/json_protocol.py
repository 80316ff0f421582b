"""The JSON protocol (awsJson1_1): SageMaker and CloudWatch Logs speak it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping

from starlette.responses import Response

from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.protocols.model import Json, check, service_model, without_nulls
from local_cloud.http import bodies

Operation = Callable[[Json], Json]


class JsonService:
    """A service of this protocol: operations that take and return what botocore's model says.

    Times are seconds since the epoch, in both directions. Operations run on the loop, or in a
    thread if they read much and change nothing.
    """

    def __init__(
        self, model: str, operations: Mapping[str, Operation], *, in_thread: bool = False
    ) -> None:
        """`model` is botocore's name of the service."""
        self.in_thread = in_thread
        self.model = service_model(model)
        self.target: str = self.model.metadata["targetPrefix"]
        self.operations = operations

    def answer(self, operation: str, body: bytes) -> Response:
        """Answer a request; errors are answers too."""
        try:
            return _render(200, self._call(operation, body))
        except ServiceError as problem:
            return render(problem)

    def _call(self, operation: str, body: bytes) -> Json:
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
        return self.operations[operation](without_nulls(params))


def render(problem: ServiceError) -> Response:
    """Return what the SDKs turn into a ClientError."""
    return _render(problem.status, {"__type": problem.code, "message": str(problem)})


def _render(status: int, content: Json) -> Response:
    headers = {"x-amzn-RequestId": str(uuid.uuid4())}
    media_type = "application/x-amz-json-1.1"
    return Response(json.dumps(content), status, headers, media_type)
