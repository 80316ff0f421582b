"""One endpoint for all of Amazon's services: which of them a request is for.

`AWS_ENDPOINT_URL` points every client at the same URL. The JSON protocol names its service in the
header X-Amz-Target, the query protocol in the API's version, and the REST protocols, like that of
CBOR, by the name that the request is signed for; what is not signed is for S3.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.amazon.protocols import json_protocol, query_protocol
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented, too_large
from local_cloud.amazon.protocols.json_protocol import JsonService
from local_cloud.amazon.protocols.query_protocol import QueryService
from local_cloud.http import bodies
from local_cloud.platform import Service

PREFIX = "/aws"
SIGNED_FOR = re.compile(r"Credential=[^,]*/([a-z0-9-]+)/aws4_request")  # a service's signing name
UNSIGNED = "s3"  # alone it has presigned URLs and public objects
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
MOST_FIELDS = 5000  # of a form


class RestApi(Protocol):
    """A service of a protocol in which method and path name the operation."""

    signing_name: str

    def takes(self, method: str, path: str) -> bool:
        """Return whether the request may be this service's: several share a signing name."""

    async def answer(self, request: Request, path: str) -> Response:
        """Answer a request; errors are answers too. path: behind PREFIX, undecoded: "/a%20b"."""


Api = JsonService | QueryService | RestApi


@dataclass(frozen=True)
class AmazonService(Service):
    """One of Amazon's services, which has no routes of its own: it is behind the one endpoint."""

    apis: Sequence[Api] = ()


class Dispatcher:
    """Pass each request on to its service."""

    def __init__(self, apis: Sequence[Api]) -> None:
        """apis: all services, of all protocols."""
        self.by_target = {one.target: one for one in apis if isinstance(one, JsonService)}
        self.by_version = {one.version: one for one in apis if isinstance(one, QueryService)}
        self.rest = [one for one in apis if not isinstance(one, JsonService | QueryService)]

    def routes(self) -> list[BaseRoute]:
        """Return the routes below PREFIX."""
        return [
            Route(PREFIX, self.answer, methods=METHODS),
            Route(PREFIX + "{rest:path}", self.answer, methods=METHODS),
        ]

    async def answer(self, request: Request) -> Response:
        """Return what the service that the request is for answers."""
        path = request.scope["path"].removeprefix(request.scope["root_path"] + PREFIX) or "/"
        if target := request.headers.get("x-amz-target"):
            return await self._json(request, target)
        kind = request.headers.get("content-type", "")
        if path == "/" and kind.startswith("application/x-www-form-urlencoded"):
            return await self._query(request)
        signed_for = SIGNED_FOR.search(request.headers.get("authorization", ""))
        name = signed_for[1] if signed_for else UNSIGNED
        for api in self.rest:
            if api.signing_name == name and api.takes(request.method, path):
                return await api.answer(request, path)
        return json_protocol.render(not_implemented(f"{name}, {request.method} {path}"))

    async def _json(self, request: Request, target: str) -> Response:
        prefix, _, operation = target.rpartition(".")
        if not (service := self.by_target.get(prefix)):
            return json_protocol.render(not_implemented(target))
        try:
            return await service.respond(operation, await bodies.read(request))
        except bodies.TooLarge as problem:
            return json_protocol.render(too_large(problem))

    async def _query(self, request: Request) -> Response:
        try:
            form = await bodies.process(await bodies.read(request), _read_form)
        except bodies.TooLarge as problem:
            return query_protocol.render(too_large(problem))
        except ValueError as problem:
            return query_protocol.render(ServiceError("MalformedQueryString", str(problem)))
        if service := self.by_version.get(form.get("Version", "")):
            return service.answer(form)
        what = f"{form.get('Action')} of API version {form.get('Version')}"
        return query_protocol.render(not_implemented(what))


def _read_form(body: bytes) -> dict[str, str]:
    """Return a form's fields. Raises ValueError for too many."""
    text = body.decode(errors="replace")
    return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
