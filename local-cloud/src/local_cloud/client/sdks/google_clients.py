"""The generated clients of Google's APIs, made by themselves: they find the local cloud over REST.

`aiplatform.gapic.JobServiceClient()` is one, and `aiplatform_v1.EndpointServiceAsyncClient(
client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"})`. Their default is gRPC to
Google's hosts. aiplatform.init() knows nothing of them.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import inspect
import os
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from local_cloud.client import revival
from local_cloud.client.target import LOOPBACK, is_local, real_service, refuse_elsewhere
from local_cloud.errors import LocalCloudError

# Options about real accounts and their networks: the asynchronous transport refuses them.
OF_ACCOUNTS = (
    "credentials_file",
    "scopes",
    "quota_project_id",
    "api_audience",
    "api_key",
    "client_cert_source",
    "client_encrypted_cert_source",
    "universe_domain",
)


def point_clients(package: ModuleType) -> None:
    """Point every client of a package such as google.cloud.aiplatform_v1.

    An asynchronous client makes the other one for itself, so it is pointed, too.
    """
    for name, kind in list(vars(package).items()):
        if name.endswith("Client") and not name.endswith("AsyncClient"):
            point_client(kind)


def point_client(kind: Any) -> None:
    """Have objects of a client's class find the local cloud, unless they name one on loopback."""
    original = kind.__init__
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def init(self: Any, **options: Any) -> None:
        transport = options.get("transport")
        has_own = transport is not None and not isinstance(transport, str | type)
        if is_local() and not has_own and not _is_on_loopback(options.get("client_options")):
            options |= _local_options(kind.__name__, transport, options.get("client_options"))
        original(self, **options)

    kind.__init__ = init


def _is_on_loopback(options: Any) -> bool:
    endpoint_option = options.get("api_endpoint") if isinstance(options, dict) else options
    endpoint = (
        endpoint_option if isinstance(endpoint_option, str | None) else endpoint_option.api_endpoint
    )
    parts = urlsplit(endpoint if endpoint and "://" in endpoint else f"//{endpoint or ''}")
    return parts.hostname in LOOPBACK


def _local_options(client: str, transport: Any, options: Any) -> dict[str, Any]:
    """Return what leads a client here: a transport over REST, the URL, and nobody's credentials."""
    from google.api_core.client_options import ClientOptions, from_dict

    given = from_dict(options) if isinstance(options, dict) else copy.copy(options)
    given = given or ClientOptions()
    for name in OF_ACCOUNTS:
        if hasattr(given, name):
            setattr(given, name, None)
    given.api_endpoint = os.environ["LOCAL_CLOUD_VERTEX_URL"]
    is_async = "asyncio" in (
        transport.__module__ if isinstance(transport, type) else str(transport)
    )
    if is_async and importlib.util.find_spec("aiohttp") is None:
        raise LocalCloudError(
            f"the asynchronous {client} needs aiohttp for the local cloud, which does not answer"
            f" over gRPC: `pip install aiohttp`, or use {client} without Async"
        )
    return {
        "transport": "rest_asyncio" if is_async else "rest",
        "client_options": given,
        "credentials": async_nobody() if is_async else nobody(),
    }


def nobody() -> Any:
    """Return credentials of nobody."""
    from google.auth.credentials import AnonymousCredentials

    return AnonymousCredentials()  # type: ignore[no-untyped-call]


def async_nobody() -> Any:
    """Return credentials of nobody for an asynchronous client."""
    from google.auth.aio.credentials import AnonymousCredentials

    return AnonymousCredentials()  # type: ignore[no-untyped-call]


def refuse_tokens(module: ModuleType) -> None:
    """Have nobody's credentials, of google.auth.credentials, say why they have no token."""
    kind = module.AnonymousCredentials
    original = kind.refresh
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def refresh(self: Any, request: Any) -> None:
        if not is_local():
            original(self, request)
        raise LocalCloudError(
            "a client asked for an access token, because it speaks to a service of Google's that is"
            f" not part of the local cloud; {real_service()}"
        )

    kind.refresh = refresh


def refuse_gemini(module: ModuleType) -> None:
    """Have google.genai say which service it would ask, before it asks for a token."""
    kind = module.BaseApiClient
    if hasattr(kind._build_request, "__wrapped__"):
        return
    build, find_base = kind._build_request, kind._websocket_base_url

    @functools.wraps(build)
    def build_request(self: Any, *args: Any, **kwargs: Any) -> Any:
        request = build(self, *args, **kwargs)
        _refuse_model(request.url)
        return request

    @functools.wraps(find_base)
    def find_websocket(self: Any, *args: Any, **kwargs: Any) -> Any:
        url = find_base(self, *args, **kwargs)
        _refuse_model(url)
        return url

    kind._build_request, kind._websocket_base_url = build_request, find_websocket


def _refuse_model(url: str) -> None:
    host = urlsplit(url).hostname
    if is_local() and host not in LOOPBACK:
        raise LocalCloudError(
            f"Google's generative models ({host}) are not part of the local cloud, so nothing was"
            f" sent; {real_service()}"
        )


def guard_async_session(module: ModuleType) -> None:
    """Keep the session of asynchronous clients, google.auth.aio.transport.sessions, here."""
    session = module.AsyncAuthorizedSession
    original = session.request
    if hasattr(original, "__wrapped__"):
        return

    signature = inspect.signature(original)

    @functools.wraps(original)
    async def request(*args: Any, **kwargs: Any) -> Any:
        from google.api_core.exceptions import DeadlineExceeded

        call = signature.bind(*args, **kwargs)
        method, url = call.arguments["method"], call.arguments["url"]
        refuse_elsewhere(url)
        if is_local():
            # It would send a request again that was answered with 429; over gRPC nothing does.
            call.arguments["total_attempts"] = 1
        try:
            return await revival.send_async(
                method,
                url,
                lambda: original(*call.args, **call.kwargs),
                failures=(module.exceptions.TransportError,),
            )
        except module.TimeoutError as problem:
            raise DeadlineExceeded("Deadline Exceeded") from problem  # type: ignore[no-untyped-call]

    session.request = request
