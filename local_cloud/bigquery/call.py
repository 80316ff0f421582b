"""A request to the API: its parts, taken out and checked; and how a refusal is answered."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from local_cloud import bodies
from local_cloud.bigquery.errors import Problem, invalid
from local_cloud.bigquery.failures import known
from local_cloud.definitions.api import Api, Method, api
from local_cloud.whole_numbers import whole

Document = dict[str, Any]
Endpoint = Callable[[Request], Awaitable[Response]]


class Call:
    """What a handler needs of a request."""

    def __init__(self, request: Request, body: Document | None = None) -> None:
        """body: of a request whose body is JSON."""
        self.request = request
        self.query = request.query_params
        self.body: Document = body or {}
        self.base = str(request.base_url).rstrip("/")

    def path(self, name: str) -> str:
        """A part of the path, decoded."""
        try:
            return unquote(self.request.path_params[name], errors="strict")
        except UnicodeDecodeError:
            raise invalid(f"the {name} in the path is not valid UTF-8") from None

    def whole(self, name: str) -> int | None:
        """A parameter that is a whole number."""
        value = self.query.get(name)
        if value in (None, ""):
            return None
        if (found := whole(str(value))) is None:
            raise invalid(f"Invalid value for {name}: {str(value)[:80]!r} is not a whole number")
        return found

    def flag(self, name: str) -> bool:
        """A parameter that is true or false."""
        return self.query.get(name, "").lower() == "true"


def answered(function: Endpoint) -> Endpoint:
    """Has an endpoint's refusals sent as the service would."""

    @functools.wraps(function)
    async def endpoint(request: Request) -> Response:
        try:
            return await function(request)
        except ClientDisconnect:
            return Response(status_code=499)  # nobody is there to read it
        except Exception as problem:  # noqa: BLE001 - after a bare 500, clients ask for ever
            return known(problem).response()

    return endpoint


def definition() -> Api:
    """What BigQuery says about its methods."""
    return api("bigquery.v2")


def blocking(method: Method, function: Callable[[Call], Any]) -> Endpoint:
    """An endpoint that checks its request and does the rest in a thread."""

    @functools.wraps(function)
    async def endpoint(request: Request) -> Response:
        call = await checked(method, request)
        return reply(await run_in_threadpool(function, call))

    return answered(endpoint)


def waiting(method: Method, function: Callable[[Call], Awaitable[Any]]) -> Endpoint:
    """An endpoint that checks its request and may wait for a job."""

    @functools.wraps(function)
    async def endpoint(request: Request) -> Response:
        return reply(await function(await checked(method, request)))

    return answered(endpoint)


async def checked(method: Method, request: Request) -> Call:
    """The request, with a body of JSON. Raises Problem, WrongValue."""
    method.check_query(request.query_params.multi_items())
    return Call(request, method.body(await read_json(request)))


def reply(found: Any) -> Response:
    """A handler's answer: a document, or nothing."""
    if isinstance(found, Response):
        return found
    return Response(status_code=204) if found is None else JSONResponse(found)


async def read_json(request: Request) -> Document | None:
    """The body; None if there is none."""
    try:
        return parse_json(await bodies.read(request, 10 * bodies.LARGEST))
    except bodies.TooLarge as problem:
        raise Problem(413, "uploadTooLarge", str(problem)) from None


def parse_json(content: bytes) -> Document | None:
    """A JSON object; None if empty. Raises Problem for anything else."""
    if not content.strip():
        return None
    try:
        body = bodies.parse(content)
    except ValueError as problem:
        raise Problem(400, "parseError", f"Parse Error: {problem}") from None
    if not isinstance(body, dict):
        raise Problem(400, "parseError", "Parse Error: an object is needed")
    return body


def inner(body: Document, name: str) -> Document:
    """An object in an object; {} if it is missing or null."""
    value = body.get(name)
    if not isinstance(value, dict | None):
        raise invalid(f"Invalid value for {name}: an object is needed")
    return value or {}


def inners(body: Document, name: str) -> list[Document]:
    """A list of objects in an object; [] if it is missing or null."""
    value = body.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise invalid(f"Invalid value for {name}: a list of objects is needed")
    return value


def page_of(found: list[Document], call: Call, most: int = 1000) -> tuple[list[Document], Document]:
    """A page of a listing, and the token of the next; a token is how many came before."""
    wanted = call.whole("maxResults")
    size = min(most if wanted is None else wanted, most)
    start = call.whole("pageToken") or 0
    more = {"nextPageToken": str(start + size)} if size and start + size < len(found) else {}
    return found[start : start + size], more
