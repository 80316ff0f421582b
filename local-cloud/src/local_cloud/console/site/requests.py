"""The console's own requests to the services: what a client could ask, and no more.

A button sends the request that an SDK would send, so that a service checks and refuses it in its
own words, and the console needs to know none of the services' rules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.types import ASGIApp, Message

from local_cloud.json_types import Json


class RequestRefused(Exception):
    """A service did not do what was asked; the message is its own."""


@dataclass(frozen=True)
class Clouds:
    """The services' application, without the guard before it."""

    app: ASGIApp

    async def google(self, method: str, path: str, body: Json | None = None) -> Json:
        """Ask a service of Google's; path: as in "/v1/projects/1/locations/x/customJobs/2"."""
        return await self._ask(method, path, headers={}, body=body)

    async def amazon(self, target: str, body: Json) -> Json:
        """Ask a service of Amazon's JSON protocol; target: as in "SageMaker.StopTrainingJob"."""
        headers = {"x-amz-target": target, "content-type": "application/x-amz-json-1.1"}
        return await self._ask("POST", "/aws", headers=headers, body=body)

    async def _ask(self, method: str, path: str, *, headers: dict[str, str], body: Any) -> Json:
        sent = b"" if body is None else json.dumps(body).encode()
        status, parts = 500, []

        async def receive() -> Message:
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))

        encoded = quote(path, safe="/:@")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": encoded,
            "raw_path": encoded.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "server": ("127.0.0.1", 0),
            "client": ("127.0.0.1", 0),
        }
        await self.app(scope, receive, send)
        answer: Json = json.loads(b"".join(parts) or b"{}")
        if status >= 400:
            raise RequestRefused(_sentence(answer))
        return answer


def _sentence(answer: Json) -> str:
    """Return what an answer of either cloud says went wrong."""
    error = answer.get("error", {})
    return str(error.get("message") or answer.get("message") or answer.get("__type") or answer)
