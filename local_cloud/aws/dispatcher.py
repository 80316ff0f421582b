"""One address for all of Amazon's services: which of them a request is for.

`AWS_ENDPOINT_URL` points every client at the same address; what tells them apart is, for the JSON
protocol, the header X-Amz-Target, for the query protocol the API's version in the form; what else
comes is for S3, unless its signature names another service.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud import bodies
from local_cloud.aws import json_protocol, query_protocol
from local_cloud.aws.errors import ServiceError, not_implemented, too_large
from local_cloud.aws.json_protocol import JsonService
from local_cloud.aws.query_protocol import QueryService

PREFIX = "/aws"
SIGNED_FOR = re.compile(r"Credential=[^,]*/([a-z0-9-]+)/aws4_request")  # a service's signing name
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
MOST_FIELDS = 5000  # of a form
Storage = Callable[[Request, str], Awaitable[Response]]


class Dispatcher:
    """Passes each request on to its service."""

    def __init__(
        self,
        by_target: Mapping[str, JsonService],
        by_version: Mapping[str, QueryService],
        storage: Storage,
    ) -> None:
        """by_target: by the target's prefix; by_version: by API version; storage: S3.

        storage gets the request and its path behind PREFIX, undecoded, such as "/bucket/a%20b".
        """
        self.by_target = by_target
        self.by_version = by_version
        self.storage = storage

    def routes(self) -> list[BaseRoute]:
        """Everything below PREFIX."""
        return [
            Route(PREFIX, self.answer, methods=METHODS),
            Route(PREFIX + "{rest:path}", self.answer, methods=METHODS),
        ]

    async def answer(self, request: Request) -> Response:
        """What the service that the request is for answers."""
        path = request.scope["path"].removeprefix(request.scope["root_path"] + PREFIX) or "/"
        if target := request.headers.get("x-amz-target"):
            prefix, _, operation = target.rpartition(".")
            if service := self.by_target.get(prefix):
                try:
                    return service.answer(operation, await bodies.read(request))
                except bodies.TooLarge as problem:
                    return json_protocol.render(too_large(problem))
            return json_protocol.render(not_implemented(target))
        kind = request.headers.get("content-type", "")
        if path == "/" and kind.startswith("application/x-www-form-urlencoded"):
            try:
                text = (await bodies.read(request)).decode(errors="replace")
            except bodies.TooLarge as problem:
                return query_protocol.render(too_large(problem))
            try:
                form = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
            except ValueError as problem:
                refusal = ServiceError("MalformedQueryString", str(problem))
                return query_protocol.render(refusal)
            if query := self.by_version.get(form.get("Version", "")):
                return query.answer(form)
            what = f"{form.get('Action')} of API version {form.get('Version')}"
            return query_protocol.render(not_implemented(what))
        signed_for = SIGNED_FOR.search(request.headers.get("authorization", ""))
        if signed_for and signed_for[1] != "s3":
            what = f"{signed_for[1]}, {request.method} {path}"
            return json_protocol.render(not_implemented(what))
        return await self.storage(request, path)
