"""Start the server again for a client that finds it ended, where that is safe; otherwise say so.

The SDKs try again by themselves, for two minutes and more, before they say that nobody answers. The
client knows the server's folder and process, so it need not wait:

- After a crash (`kill -9`, too little memory) the server starts again in the same folder, with the
  same port and secret: nothing that it had acknowledged is lost. The request is sent again if it
  never arrived, or if it does no harm to send it twice.
- After `stop` it stays stopped: the error names the next step.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar, cast
from urllib.parse import urlsplit

from local_cloud.client import control
from local_cloud.client.home import Home
from local_cloud.client.in_flight import watch
from local_cloud.errors import LocalCloudError

Answer = TypeVar("Answer")

ENDED = (
    "the local cloud ended before it answered {}; it runs again, and nothing that it had"
    " acknowledged is lost. Check whether this request took effect before you send it again"
)

# The methods that have the same effect once or twice (RFC 9110, 9.2.2).
REPEATABLE = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")


@dataclass
class _InUse:
    """The server that this process's SDKs are pointed at."""

    home: Home
    pid: int


_in_use: _InUse | None = None
_roots: dict[str, Home] = {}  # of all servers that this process has used: URL and home


def use(server: control.Status) -> None:
    """Remember the server that activate() has found, and revive it when a request needs it."""
    global _in_use
    _in_use = _InUse(server.home, server.facts["pid"])
    _roots[str(server.url)] = server.home


def send(
    method: str,
    url: str,
    request: Callable[[], Answer],
    *,
    failures: tuple[type[Exception], ...],
    repeatable: bool,
) -> Answer:
    """Return the answer to a request that an SDK sends.

    failures: what the SDK's library raises when there is no answer. repeatable: whether the request
    may be sent twice. LocalCloudError if the server has ended and there is no answer.
    """
    server = _of(url)
    if server is None:
        return _send_elsewhere(url, request, failures)
    what = _describe(method, url)
    answer, lost = _attempt(server, request, failures)
    if lost is None:
        return cast("Answer", answer)
    if not _revive(server):
        raise lost
    if not (repeatable or _is_refused(lost)):
        raise LocalCloudError(ENDED.format(what))
    answer, lost = _attempt(server, request, failures)
    if lost is None:
        return cast("Answer", answer)
    if not _revive(server):
        raise lost
    raise LocalCloudError(
        f"the local cloud ended twice while it answered {what}: its log,"
        f" {server.home.log}, may say why"
    )


async def send_async(
    method: str,
    url: str,
    request: Callable[[], Awaitable[Answer]],
    *,
    failures: tuple[type[Exception], ...],
) -> Answer:
    """Do what send() does for a request of an asynchronous client, which is never sent twice."""
    server = _of(url)
    if server is None:
        return await request()
    if not server.home.running():
        _revive(server)
    try:
        with watch(server.home):
            return await request()
    except failures as problem:
        lost = problem
    if _revive(server):
        raise LocalCloudError(ENDED.format(_describe(method, url)))
    raise lost


def _describe(method: str, url: str) -> str:
    """Return a request's method and path, without the secret."""
    return f"{method} {urlsplit(url).path.partition('/')[2].partition('/')[2]}"


def _send_elsewhere(
    url: str, request: Callable[[], Answer], failures: tuple[type[Exception], ...]
) -> Answer:
    """Send what is not for the server in use; say so if it was for one that has ended."""
    try:
        return request()
    except failures as problem:
        former = [home for root, home in _roots.items() if url.startswith(f"{root}/")]
        if not former or not _is_refused(problem):
            raise
        raise LocalCloudError(
            f"this client was made for the local cloud in {former[0].folder}, which has ended, and"
            " this process uses another one now: make the client again, after"
            " local_cloud.activate()"
        ) from None


def _attempt(
    server: _InUse, request: Callable[[], Answer], failures: tuple[type[Exception], ...]
) -> tuple[Answer | None, Exception | None]:
    """Return the answer, or the error; an error that is raised later is not chained to it."""
    try:
        with watch(server.home):
            return request(), None
    except failures as problem:
        return None, problem


def require_server(url: str) -> None:
    """Start the server again if it has ended: for what is sent by libraries without a hook."""
    server = _of(url)
    if server and not server.home.running():
        _revive(server)


def _of(url: str) -> _InUse | None:
    """Return the server in use, if the URL belongs to it."""
    root = os.environ.get("LOCAL_CLOUD_VERTEX_URL")
    return _in_use if root and url.startswith(f"{root}/") else None


def _revive(server: _InUse) -> bool:
    """Start the server if it has ended; return False if it has been running all the time.

    Raise LocalCloudError where it is not started again. Of many clients one starts it.
    """
    revived = control.start_again(server.home)
    if revived.url != os.environ.get("LOCAL_CLOUD_VERTEX_URL"):
        raise LocalCloudError(
            "the local cloud ended, and now runs at another port, because another program has"
            " the old one: restart the kernel, and call local_cloud.activate()"
        )
    before, server.pid = server.pid, revived.facts["pid"]
    return server.pid != before


def _is_refused(problem: BaseException | None) -> bool:
    """Return whether nobody listened, so that the request never left this process."""
    while problem is not None:
        if isinstance(problem, ConnectionRefusedError):
            return True
        problem = problem.__cause__ or problem.__context__
    return False
