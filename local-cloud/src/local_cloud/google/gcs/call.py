"""A request to the JSON API: its parts, taken out and checked; and how a refusal is answered."""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from local_cloud.google import rest
from local_cloud.google.definitions.values import WrongValue
from local_cloud.google.gcs.errors import Refusal, from_store, invalid, not_implemented
from local_cloud.google.multipart import BadBody
from local_cloud.google.rest import BadJson, Endpoint, Invalid, whole
from local_cloud.http.bodies import TooLarge
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.values import Condition

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


class Call(rest.Call):
    """What a handler needs of a request."""

    def __init__(self, request: Request, body: Json | None = None) -> None:
        """body: of a request whose body is JSON."""
        super().__init__(request, body)
        for name, harmless in _UNSUPPORTED.items():
            if self.query.get(name, "").lower() not in {"", *harmless}:
                raise not_implemented(f"parameter {name}={self.query[name]}")
        for name in _ENCRYPTION:
            if name in self.headers:
                raise not_implemented(f"header {name}")

    def condition(self, kind: str = "") -> Condition:
        """Return the preconditions; kind: "" or "Source"."""
        return condition(self.query, kind)


def condition(given: Any, kind: str = "") -> Condition:
    """Return the preconditions among parameters (or in a source of compose)."""

    def number(name: str) -> int | None:
        return whole(f"if{kind}{name}", given.get(f"if{kind}{name}"))

    return Condition(
        generation=number("GenerationMatch"),
        generation_not=number("GenerationNotMatch"),
        metageneration=number("MetagenerationMatch"),
        metageneration_not=number("MetagenerationNotMatch"),
    )


def _refuse_store(error: StoreError, request: Request) -> Refusal:
    return from_store(error, is_read=request.method in ("GET", "HEAD"))


API = rest.Api(
    "storage.v1",
    {
        Refusal: lambda refusal, _: refusal,
        StoreError: _refuse_store,
        WrongValue: lambda problem, _: invalid(str(problem), location=problem.where),
        TooLarge: lambda problem, _: Refusal(413, "uploadTooLarge", str(problem)),
        BadJson: lambda _, __: Refusal(400, "parseError", "Parse Error"),
        Invalid: lambda problem, _: invalid(str(problem)),
        BadBody: lambda problem, _: invalid(str(problem)),
    },
    call=Call,
)


async def take_the_rest(chunks: AsyncIterator[bytes]) -> None:
    """Read what is still to come: a client that is still sending does not read an answer."""
    async for _ in chunks:
        pass


def stream_to(
    function: Callable[[Call, AsyncIterator[bytes]], Awaitable[Response]],
) -> Endpoint:
    """Make an endpoint that reads its body as it comes."""

    @functools.wraps(function)
    async def endpoint(request: Request) -> Response:
        chunks = request.stream()
        try:
            return await function(Call(request), chunks)
        except (Refusal, WrongValue, Invalid, BadBody, StoreError, OSError):
            await take_the_rest(chunks)
            raise

    return API.wrap(endpoint)


def digest(name: str, value: object, size: int) -> bytes | None:
    """Return a base64 digest that a client sent; None if it sent none."""
    if value in (None, ""):
        return None
    try:
        decoded = base64.b64decode(str(value), validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if len(decoded) != size:
        raise invalid(f"Invalid value for {name}: {value!r}")
    return decoded
