"""The HTTP that Google's APIs share: a request's parts, its JSON, pages of a list, and refusals.

What only one of the APIs says or does is data of that API's folder.
"""

from __future__ import annotations

import base64
import functools
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local_cloud.errors import LocalCloudError
from local_cloud.google.definitions.api import Method, api
from local_cloud.http import bodies
from local_cloud.json_types import Json

Endpoint = Callable[[Request], Awaitable[Response]]
Item = TypeVar("Item")

VERBS = ["GET", "POST", "PATCH", "PUT", "DELETE"]
# HTTP status of each canonical code: google/rpc/code.proto
HTTP = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_WHOLE = re.compile(r"-?[0-9]{1,19}")
# Bytes of a page of a list, about, but one item at least. The services name no limit but that of a
# request: 10 MB for BigQuery and Cloud Logging (cloud.google.com/logging/quotas). Their pages may
# have fewer items than asked for.
PAGE_BYTES = 10_000_000
_SHOWN = 80  # characters of a value that a message repeats


class GoogleError(LocalCloudError):
    """An answer other than success: `{"error": {"code": …, "message": …, …}}`."""

    def __init__(self, code: int, message: str, **details: Any) -> None:
        """Keep what the answer says.

        code: of HTTP. details: what else the error has: `errors`, each with a `reason`, in Cloud
        Storage and BigQuery, the canonical `status` in the newer APIs.
        """
        super().__init__(message)
        self.code, self.details = code, details

    def response(self) -> Response:
        """Return the answer."""
        if self.code == 304:
            return Response(status_code=304)
        error = {"code": self.code, "message": str(self), **self.details}
        return JSONResponse({"error": error}, self.code)


class ApiError(GoogleError):
    """A refusal of one of the newer APIs; `status` is the canonical code's name."""

    def __init__(self, status: str, message: str, http: int | None = None) -> None:
        """`message` says what is wrong with the request, and where; `http`: another HTTP status."""
        super().__init__(http or HTTP[status], message, status=status)
        self.status = status


class Invalid(LocalCloudError):
    """A part of a request makes no sense. Each API has its own code or reason for it."""


class BadJson(Invalid):
    """The body is not JSON that can be kept."""


class NotAnObject(BadJson):
    """The body is JSON, and not an object."""


class Call:
    """What a handler needs of a request."""

    def __init__(self, request: Request, body: Json | None = None) -> None:
        """body: of a request whose body is JSON."""
        self.request = request
        self.query = request.query_params
        self.headers = request.headers
        self.body: Json = body or {}
        self.base = str(request.base_url).rstrip("/")

    def path(self, name: str) -> str:
        """Return a part of the path, decoded. Raises Invalid."""
        try:
            return unquote(self.request.path_params[name], errors="strict")
        except UnicodeDecodeError:
            raise Invalid(f"the {name} in the path is not valid UTF-8") from None

    def whole(self, name: str) -> int | None:
        """Return a parameter that is a whole number, None if there is none. Raises Invalid."""
        return whole(name, self.query.get(name))

    def flag(self, name: str) -> bool:
        """Return a parameter that is true or false."""
        return self.query.get(name, "").lower() == "true"


# Gets the API's Call; returns, or waits for, a Response, a document, or None.
Handler = Callable[[Any], Any]
Refuse = Callable[[Any, Request], GoogleError]


class Api:
    """An API that has a definition: it checks requests, and refuses them in its own words."""

    def __init__(
        self,
        name: str,
        refusals: Mapping[type[Exception], Refuse],
        *,
        call: type[Call] = Call,
        largest: int = bodies.LARGEST,
    ) -> None:
        """name: of the definition, storage.v1 say. largest: bytes of a body.

        refusals: what the API says of an exception that a handler raises; the first that fits.
        """
        self._name, self._refusals = name, refusals
        self._call, self._largest = call, largest

    def method(self, verb: str, path: str) -> Method:
        """Return the definition of a route's method."""
        return api(self._name).method(verb, path)

    def wrap(self, function: Endpoint) -> Endpoint:
        """Return an endpoint whose refusals are sent as the service would."""

        @functools.wraps(function)
        async def endpoint(request: Request) -> Response:
            try:
                return await function(request)
            except ClientDisconnect:
                return Response(status_code=499)  # nobody is there to read it
            except tuple(self._refusals) as problem:
                return self._refusal(problem, request).response()

        return endpoint

    def _refusal(self, problem: Exception, request: Request) -> GoogleError:
        kind = next(kind for kind in self._refusals if isinstance(problem, kind))
        return self._refusals[kind](problem, request)

    def route(self, verb: str, path: str, handler: Handler, *, defined: str = "") -> Route:
        """Return the route of a method: the request is checked, then handled.

        A handler that is a coroutine is awaited, every other one is called in a thread. defined:
        the path in the definition, if it is another.
        """
        method = self.method(verb, defined or path)

        async def endpoint(request: Request) -> Response:
            method.check_query(request.query_params.multi_items())
            content = await bodies.read(request, self._largest)
            body = await bodies.process(content, lambda read: method.body(parse_json(read)))
            call = self._call(request, body)
            if inspect.iscoroutinefunction(handler):
                return await run_in_threadpool(reply, await handler(call))
            return await run_in_threadpool(lambda: reply(handler(call)))

        return Route(path, self.wrap(endpoint), methods=[verb])


def reply(answer: Any) -> Response:
    """Return the answer for what a handler has found; None is no content."""
    if isinstance(answer, Response):
        return answer
    return Response(status_code=204) if answer is None else JSONResponse(answer)


def describe(request: Request) -> str:
    """Return the request's verb and path, without the secret."""
    scope = request.scope
    return f"{request.method} {scope['path'].removeprefix(scope['root_path'])}"


async def refuse_unknown(request: Request) -> Response:
    """Answer a request to one of the newer APIs that the local cloud does not have."""
    what = f"not implemented in the local cloud: {describe(request)}"
    return ApiError("UNIMPLEMENTED", what).response()


async def read_json(request: Request, *, most_values: int = bodies.MOST_VALUES) -> Json:
    """Return the body. Raises BadJson, TooLarge."""
    content = await bodies.read(request)
    return await bodies.process(content, lambda read: parse_json(read, most_values))


def parse_json(content: bytes, most_values: int = bodies.MOST_VALUES) -> Json:
    """Return the JSON object in a body, {} if it is empty. Raises BadJson."""
    if not content.strip():
        return {}
    try:
        body = bodies.parse(content, most_values)
    except ValueError as problem:
        raise BadJson(str(problem)) from None
    if not isinstance(body, dict):
        raise NotAnObject("not an object")
    return body


def inner(body: Json, name: str) -> Json:
    """Return an object in an object, {} if it is missing or null. Raises Invalid."""
    value = body.get(name)
    if not isinstance(value, dict | None):
        raise Invalid(f"Invalid value for {name}: an object is needed")
    return value or {}


def inners(body: Json, name: str) -> list[Json]:
    """Return a list of objects in an object, [] if it is missing or null. Raises Invalid."""
    value = body.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise Invalid(f"Invalid value for {name}: a list of objects is needed")
    return value


def whole(name: str, value: object) -> int | None:
    """Return a whole number that a client sent, None if it sent none. Raises Invalid."""
    if value in (None, ""):
        return None
    if not _WHOLE.fullmatch(str(value)):
        raise Invalid(f"Invalid value for {name}: {str(value)[:_SHOWN]!r} is not a whole number")
    return int(str(value))


def cut_page(items: Sequence[Item], start: int, size: int) -> tuple[Sequence[Item], int]:
    """Return a page of a list, and how many items come before the next page: 0 if there is none.

    A page has fewer items than `size` if they are long: PAGE_BYTES at most, but one item at least.
    """
    page = list(fit(items[start : start + size]))
    after = start + len(page) if page and start + len(page) < len(items) else 0
    return page, after


def fit(items: Iterable[Item]) -> Iterator[Item]:
    """Yield as many of these items as fit on a page, as JSON; one at least, if there is one."""
    size = 0
    for count, item in enumerate(items):
        size += len(json.dumps(item, default=str))
        if count and size > PAGE_BYTES:
            return
        yield item


def page_token(text: str) -> str:
    """Return a text, which says where a page begins, as a token in a URL."""
    return base64.urlsafe_b64encode(text.encode()).decode()


def read_page_token(token: str) -> str:
    """Return the text of a token. Raises ValueError for what is no token."""
    return base64.urlsafe_b64decode(token).decode()
