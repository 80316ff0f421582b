"""Several calls of the JSON API in one request: POST /batch/storage/v1.

The body is multipart/mixed; each part is of type application/http and holds a whole request, and
the answer holds a whole answer for each: cloud.google.com/storage/docs/batch. The calls run one
after the other. Those that carry an object's bytes cannot be in a batch.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Router
from starlette.types import Message as Event

from local_cloud.google.gcs.errors import Refusal, invalid, not_implemented
from local_cloud.http import bodies

_MOST_CALLS = 1000  # google-cloud-storage sends as many; the service's page asks for at most 100
_LARGEST = 10 << 20  # bytes of all calls: cloud.google.com/storage/docs/batch
_TOO_LARGE = Refusal(  # of a call behind answers that have as many bytes; it is not done
    413,
    "responseTooLarge",
    f"The answers to the calls before have more than {_LARGEST >> 20} MB: send this one again.",
)
_METHODS = "/storage/v1/"


@dataclass(frozen=True)
class Inner:
    """A call in a batch."""

    id: str
    verb: str
    url: str
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Batches:
    """The handler of /batch/storage/v1."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        """routes: of the calls that a batch may hold."""
        self._router = Router(routes, redirect_slashes=False)

    async def run(self, request: Request) -> Response:
        """Answer each call of the batch."""
        body = await bodies.read(request, _LARGEST)
        calls = await run_in_threadpool(_read, request.headers.get("content-type", ""), body)
        boundary = f"batch_{secrets.token_hex(16)}"
        answers: list[bytes] = []
        size = 0
        for call in calls:
            full = size > _LARGEST
            answer = _TOO_LARGE.response() if full else await self._answer(request, call)
            answers.append(_part(boundary, call, answer))
            size += len(answers[-1])
        whole = b"".join(answers) + f"--{boundary}--\r\n".encode()
        return Response(whole, media_type=f"multipart/mixed; boundary={boundary}")

    async def _answer(self, request: Request, call: Inner) -> Response:
        """Have the routes answer the call as if it had come alone."""
        root = request.scope["root_path"]
        url = urlsplit(call.url)
        path = url.path.removeprefix(root)
        if not path.startswith(_METHODS):
            return not_implemented(f"{call.verb} {path} in a batch").response()
        if "alt=media" in url.query.split("&"):
            return invalid("A batch cannot hold uploads or downloads.").response()
        scope = dict(request.scope) | {
            "method": call.verb,
            "headers": call.headers,
            "query_string": url.query.encode(),
            "path": root + path,
            "raw_path": (root + path).encode(),
            "path_params": {},
        }
        return await _collect(self._router, scope, call.body)


async def _collect(router: Router, scope: dict[str, Any], body: bytes) -> Response:
    """Return what the routes send."""
    events: list[Event] = []

    async def receive() -> Event:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: Event) -> None:
        events.append(event)

    await router(scope, receive, send)
    answer = Response(b"".join(event.get("body", b"") for event in events), events[0]["status"])
    answer.raw_headers = events[0]["headers"]
    return answer


def _read(content_type: str, body: bytes) -> list[Inner]:
    """Return the calls in a batch. Raises Refusal."""
    kind = Message()
    kind["content-type"] = content_type
    boundary = kind.get_param("boundary")
    if kind.get_content_type() != "multipart/mixed" or not isinstance(boundary, str):
        raise invalid("A batch needs a body of type multipart/mixed with a boundary.")
    parts = (b"\n" + body).split(b"\n--" + boundary.encode())[1:]
    parts = [part for part in parts if not part.startswith(b"--")]  # as after the last one
    if not 1 <= len(parts) <= _MOST_CALLS:
        raise invalid(f"A batch must hold between 1 and {_MOST_CALLS} calls, not {len(parts)}.")
    return [_read_call(part.lstrip()) for part in parts]


def _read_call(part: bytes) -> Inner:
    """Return the call in a part. Raises Refusal."""
    outer, content = _split(part)
    if outer.get_content_type() != "application/http":
        raise invalid("Each part of a batch must be of type application/http.")
    line, _, rest = content.lstrip().partition(b"\n")
    words = line.decode("latin-1").split()
    if len(words) not in (2, 3) or not words[1].isascii():
        raise invalid("Each part of a batch must begin with a line such as DELETE /storage/v1/….")
    inner_headers, body = _split(rest)
    headers = [
        (name.lower().encode(), str(value).encode()) for name, value in inner_headers.items()
    ]
    headers = [each for each in headers if each[0] != b"content-length"]  # a text's, or missing
    return Inner(str(outer.get("Content-ID") or ""), words[0].upper(), words[1], headers, body)


def _split(text: bytes) -> tuple[Message, bytes]:
    """Return headers, and what comes after the empty line that ends them."""
    message = BytesParser().parsebytes(text, headersonly=True)
    payload: Any = message.get_payload(decode=True)
    return message, payload or b""


def _part(boundary: str, call: Inner, answer: Response) -> bytes:
    """Return a call's answer as a part of the batch's."""
    lines = [f"--{boundary}", "Content-Type: application/http"]
    if call.id:
        lines.append(f"Content-ID: {_response_id(call.id)}")
    lines += ["", f"HTTP/1.1 {answer.status_code} {_reason(answer.status_code)}"]
    lines += [f"{name.decode()}: {value.decode('latin-1')}" for name, value in answer.raw_headers]
    body = bytes(answer.body)
    return "\r\n".join([*lines, "", ""]).encode() + body + b"\r\n"


def _response_id(call: str) -> str:
    """Return the id of the answer to a call: <a> becomes <response-a>."""
    return f"<response-{call[1:]}" if call.startswith("<") else f"response-{call}"


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # 499 has none
        return "Client Closed Request"
