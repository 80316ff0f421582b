"""The protocol rpc-v2-cbor: newer SDKs speak it to CloudWatch."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from local_cloud.amazon.protocols import cbor
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented, too_large
from local_cloud.amazon.protocols.json_protocol import Operation
from local_cloud.amazon.protocols.model import check, service_model, without_nulls
from local_cloud.http import bodies
from local_cloud.json_types import Json


class CborService:
    """A service of this protocol: operations that take and return what botocore's model says.

    Times are seconds since the epoch; those in an answer are `cbor.Timestamp`. Operations run in
    a thread.
    """

    def __init__(self, model: str, operations: Mapping[str, Operation]) -> None:
        """`model` is botocore's name of the service."""
        self.model = service_model(model)
        self.signing_name: str = self.model.signing_name
        self.prefix = f"/service/{self.model.metadata['targetPrefix']}/operation/"
        self.operations = operations

    def takes(self, method: str, path: str) -> bool:
        """Return whether the request names an operation of this service."""
        return method == "POST" and path.startswith(self.prefix)

    async def answer(self, request: Request, path: str) -> Response:
        """Answer a request that this service takes; errors are answers too."""
        try:
            body = await bodies.read(request)
            name = path.removeprefix(self.prefix)
            return _respond(200, await run_in_threadpool(self._call, name, body))
        except bodies.TooLarge as problem:
            return render(too_large(problem))
        except ServiceError as problem:
            return render(problem)

    def _call(self, name: str, body: bytes) -> Json:
        if name not in self.model.operation_names:
            raise ServiceError("UnknownOperationException", f"there is no operation {name}")
        if name not in self.operations:
            raise not_implemented(f"{self.model.service_id} {name}")
        try:
            params = cbor.loads(body) if body else {}
        except ValueError as problem:
            raise ServiceError("SerializationException", f"no CBOR: {problem}") from None
        if not isinstance(params, dict):
            raise ServiceError("SerializationException", "the request is no map")
        check(self.model.operation_model(name), params)
        return self.operations[name](without_nulls(params))


def render(problem: ServiceError) -> Response:
    """Return what the SDKs turn into a ClientError."""
    return _respond(problem.status, {"__type": problem.code, "message": str(problem)})


def _respond(status: int, content: Json) -> Response:
    headers = {"x-amzn-RequestId": str(uuid.uuid4()), "smithy-protocol": "rpc-v2-cbor"}
    return Response(cbor.dumps(content), status, headers, "application/cbor")
