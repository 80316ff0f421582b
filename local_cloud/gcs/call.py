"""A request to the JSON API: its parts, taken out and checked; and how a refusal is answered."""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from local_cloud import bodies
from local_cloud.definitions.api import Api, Method, api
from local_cloud.definitions.values import WrongValue
from local_cloud.gcs.errors import Refusal, from_store, invalid, not_implemented
from local_cloud.related import BadBody
from local_cloud.store.errors import StoreError
from local_cloud.store.values import Condition

Json = dict[str, Any]
Endpoint = Callable[[Request], Awaitable[Response]]

# Parameters that ask for what the local cloud has not: their values other than these are refused.
# (`versions` is no such: no bucket keeps versions, so the live objects are all there are. Nor is
# `includeFoldersAsPrefixes`: no bucket has folders of its own, a hierarchical namespace.)
_UNSUPPORTED = {
    "softDeleted": {"false"},
    # With these the project's own people may read and write, and nobody else: as without them.
    "predefinedAcl": {"projectprivate", "bucketownerfullcontrol"},
    "destinationPredefinedAcl": {"projectprivate", "bucketownerfullcontrol"},
    "predefinedDefaultObjectAcl": {"projectprivate", "bucketownerfullcontrol"},
    "kmsKeyName": set(),
    "destinationKmsKeyName": set(),
    "enableObjectRetention": {"false"},
}
_ENCRYPTION = ("x-goog-encryption-key", "x-goog-copy-source-encryption-key")


class Call:
    """What a handler needs of a request."""

    def __init__(self, request: Request, body: Json | None = None) -> None:
        """body: of a request whose body is JSON."""
        self.request = request
        self.query = request.query_params
        self.headers = request.headers
        self.body: Json = body or {}
        self.base = str(request.base_url).rstrip("/")
        for name, harmless in _UNSUPPORTED.items():
            if self.query.get(name, "").lower() not in {"", *harmless}:
                raise not_implemented(f"parameter {name}={self.query[name]}")
        for name in _ENCRYPTION:
            if name in self.headers:
                raise not_implemented(f"header {name}")

    def path(self, name: str) -> str:
        """A part of the path, decoded."""
        try:
            return unquote(self.request.path_params[name], errors="strict")
        except UnicodeDecodeError:
            raise invalid(f"the {name} in the path is not valid UTF-8") from None

    def whole(self, name: str) -> int | None:
        """A parameter that is a whole number."""
        return whole(name, self.query.get(name))

    def flag(self, name: str) -> bool:
        """A parameter that is true or false."""
        return self.query.get(name, "").lower() == "true"

    def condition(self, kind: str = "") -> Condition:
        """The preconditions; kind: "" or "Source"."""
        return condition(self.query, kind)


def condition(given: Any, kind: str = "") -> Condition:
    """The preconditions among parameters (or in a source of compose)."""

    def requested(name: str) -> int | None:
        return whole(f"if{kind}{name}", given.get(f"if{kind}{name}"))

    return Condition(
        generation=requested("GenerationMatch"),
        generation_not=requested("GenerationNotMatch"),
        metageneration=requested("MetagenerationMatch"),
        metageneration_not=requested("MetagenerationNotMatch"),
    )


def answered(function: Endpoint) -> Endpoint:
    """Has an endpoint's refusals sent as the service would."""

    @functools.wraps(function)
    async def endpoint(request: Request) -> Response:
        try:
            return await function(request)
        except Refusal as refusal:
            return refusal.response()
        except StoreError as error:
            return from_store(error, is_read=request.method in ("GET", "HEAD")).response()
        except WrongValue as problem:
            return Refusal(400, "invalid", str(problem), location=problem.where).response()
        except BadBody as problem:
            return invalid(str(problem)).response()
        except ClientDisconnect:
            return Response(status_code=499)  # nobody is there to read it

    return endpoint


def definition() -> Api:
    """What Cloud Storage says about its methods."""
    return api("storage.v1")


def streaming(function: Callable[[Call, AsyncIterator[bytes]], Awaitable[Response]]) -> Endpoint:
    """An endpoint that reads its body as it comes."""

    @functools.wraps(function)
    async def endpoint(request: Request) -> Response:
        chunks = request.stream()
        try:
            return await function(Call(request), chunks)
        except (Refusal, WrongValue, BadBody, StoreError, OSError):
            # A client that is still sending does not read an answer: take the rest first.
            async for _ in chunks:
                pass
            raise

    return answered(endpoint)


def blocking(method: Method, function: Callable[[Call], Response]) -> Endpoint:
    """An endpoint that checks its request and does the rest in a thread."""

    @functools.wraps(function)
    async def endpoint(request: Request) -> Response:
        method.check_query(request.query_params.multi_items())
        body = method.body(await read_json(request))
        return await run_in_threadpool(lambda: function(Call(request, body)))

    return answered(endpoint)


async def read_json(request: Request) -> Json | None:
    """The body; None if there is none."""
    try:
        return parse_json(await bodies.read(request))
    except bodies.TooLarge as problem:
        raise Refusal(413, "uploadTooLarge", str(problem)) from None


def parse_json(content: bytes) -> Json | None:
    """A JSON object; None if empty. Raises Refusal for anything else."""
    if not content.strip():
        return None
    wrong = Refusal(400, "parseError", "Parse Error")
    try:
        body = bodies.parse(content)
    except ValueError:
        raise wrong from None
    if not isinstance(body, dict):
        raise wrong
    return body


def inner(body: Json, name: str) -> Json:
    """A JSON object in a JSON object; {} if it is missing or null."""
    value = body.get(name)
    if not isinstance(value, dict | None):
        raise invalid(f"Invalid value for {name}: an object is needed")
    return value or {}


def inners(body: Json, name: str) -> list[Json]:
    """A list of JSON objects in a JSON object; [] if it is missing or null."""
    value = body.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise invalid(f"Invalid value for {name}: a list of objects is needed")
    return value


def digest(name: str, value: object, size: int) -> bytes | None:
    """A base64 digest that a client sent; None if it sent none."""
    if value in (None, ""):
        return None
    try:
        decoded = base64.b64decode(str(value), validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if len(decoded) != size:
        raise invalid(f"Invalid value for {name}: {value!r}")
    return decoded


def whole(name: str, value: object) -> int | None:
    """A whole number that a client sent; None if it sent none."""
    if value in (None, ""):
        return None
    try:
        return int(str(value))
    except ValueError:
        raise invalid(f"Invalid value for {name}: {value!r} is no whole number") from None
