"""Plain HTTP libraries: with credentials they do not get to the clouds' hosts.

Some clients have no library of Google's or Amazon's below them: google-genai, a notebook's own
`requests.post(url, headers={"Authorization": f"Bearer {token}"})`. What has no credentials may
leave, such as the download of a public data set from storage.googleapis.com.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from local_cloud.client.sdks.redaction import redact_errors
from local_cloud.client.target import CLOUDS, is_local, refuse_elsewhere

HERE = re.compile(
    r"([a-z0-9-]+-)?aiplatform\.googleapis\.com"
    r"|(bigquery|cloudresourcemanager|logging|storage|www)\.googleapis\.com"
)
HEADERS = ("authorization", "x-goog-api-key")


def refuse_credentials(url: str, headers: Mapping[Any, Any] | None) -> None:
    """Raise LocalCloudError for a request to one of the clouds' hosts that has credentials."""
    parts = urlsplit(url)
    if not (parts.hostname or "").endswith(CLOUDS):
        return
    names = {str(name).lower() for name in headers or ()}
    if names.intersection(HEADERS) or "key=" in parts.query:
        refuse_elsewhere(url)


def guard_requests(module: ModuleType) -> None:
    """Guard requests.sessions."""
    _guard(module.Session, "send", lambda request: (request.url, request.headers))


def guard_httpx(module: ModuleType) -> None:
    """Guard httpx, whose client of each kind sends by `send`."""
    for kind in (module.Client, module.AsyncClient):
        _guard(kind, "send", lambda request: (str(request.url), request.headers))


def guard_aiohttp(module: ModuleType) -> None:
    """Guard aiohttp.client, whose sessions send by `_request`."""
    original = module.ClientSession._request
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    async def request(self: Any, method: str, url: Any, **options: Any) -> Any:
        refuse_credentials(str(url), {**self.headers, **(options.get("headers") or {})})
        return await original(self, method, url, **options)

    module.ClientSession._request = request


def guard_discovery(module: ModuleType) -> None:
    """Lead what google_auth_httplib2 sends here: the clients of googleapiclient.discovery.

    The paths of the services that are here are the same as on their own hosts.
    """
    original = module.AuthorizedHttp.request
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def request(self: Any, uri: str, *args: Any, **options: Any) -> Any:
        parts = urlsplit(uri)
        if is_local() and HERE.fullmatch(parts.hostname or ""):
            uri = os.environ["LOCAL_CLOUD_VERTEX_URL"] + uri.partition(parts.netloc)[2]
        refuse_elsewhere(uri)
        return original(self, uri, *args, **options)

    module.AuthorizedHttp.request = request


def _guard(kind: Any, name: str, read: Callable[[Any], tuple[str, Any]]) -> None:
    """Have a method of a class refuse its first argument, a request, if it may not leave."""
    original = getattr(kind, name)
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def send(self: Any, request: Any, *args: Any, **options: Any) -> Any:
        refuse_credentials(*read(request))
        return original(self, request, *args, **options)

    setattr(kind, name, send)


HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "requests.exceptions": redact_errors("RequestException"),
    "urllib3.exceptions": redact_errors("HTTPError"),
    "requests.sessions": guard_requests,
    "httpx": guard_httpx,
    "aiohttp.client": guard_aiohttp,
    "google_auth_httplib2": guard_discovery,
}
