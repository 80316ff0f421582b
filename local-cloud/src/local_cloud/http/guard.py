"""Who may come in: only requests on loopback that know the secret, and no web page.

Other users of a shared machine can reach loopback, and so can any page in the user's browser. The
secret in the path keeps out the former; Host and Origin are checked against the latter (DNS
rebinding sends a foreign Host, a script on a page sends a foreign Origin).

The console is the one part that a browser asks. Its pages are let through without the secret, with
Host and Origin checked alike, to a separate application that requires a session (console/site.py).

gcloud drops the path of its endpoint when it uploads, and prints its endpoint: it sends the secret
as its access token instead, which a page can send no more than it can guess it.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

CONSOLE = b"console"  # the first segment of its pages' paths
REFUSAL = {
    "error": {
        "code": 403,
        "message": "This address needs its secret: use local_cloud.activate(), or "
        "`python -m local_cloud env` in a shell.",
    }
}


class Guard:
    """Check Host, Origin and secret, then pass the request on without the secret.

    The application meets the path undecoded (`o/a%2Fb` is one segment), and `root_path` is the
    secret's, so that links it builds lead back through this guard.
    """

    def __init__(
        self, app: ASGIApp, secret: str, *, port: int, console: ASGIApp, proxies: Collection[str]
    ) -> None:
        """Guard the app; console: what asks for no secret.

        port: the one that the server listens on. proxies: origins that may pass requests on to the
        console, and to nothing else.
        """
        self.app, self.console, self.proxies = app, console, proxies
        self.secret = secret.encode()
        self.hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}
        self.origins = {b"http://" + host for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403 to whoever may not come in."""
        if scope["type"] == "http":
            headers, whole = dict(scope["headers"]), scope["raw_path"].split(b"?")[0]
            _, secret, rest = [*whole.split(b"/", 2), b"", b""][:3]
            if secret == CONSOLE and (self.is_from_here(headers) or self.is_from_proxy(headers)):
                await self.console({**scope, "path": whole.decode("latin-1")}, receive, send)
                return
            root = "/" + self.secret.decode("ascii")
            token = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
            if self.is_secret(token) and not self.is_secret(secret):
                # Links for this client need no secret: it sends its token with each request.
                secret, rest, root = token, whole.removeprefix(b"/"), ""
            if not self.admits(headers, secret):
                # The connection ends with it: a stranger's keeps no place here.
                refusal = JSONResponse(REFUSAL, 403, {"connection": "close"})
                await refusal(scope, receive, send)
                return
            path = "/" + rest.decode("ascii")
            scope = {**scope, "root_path": root, "path": root + path}
        await self.app(scope, receive, send)

    def admits(self, headers: dict[bytes, bytes], secret: bytes) -> bool:
        """Return whether a request with these headers and this first segment may come in."""
        return self.is_from_here(headers) and self.is_secret(secret)

    def is_from_here(self, headers: dict[bytes, bytes]) -> bool:
        """Return whether a request was meant for this server, and is no other site's."""
        is_ours = headers.get(b"host") in self.hosts
        return is_ours and headers.get(b"origin") in (None, *self.origins)

    def is_from_proxy(self, headers: dict[bytes, bytes]) -> bool:
        """Return whether a request comes through a proxy of the user's, and from its pages."""
        host, origin = headers.get(b"host", b""), headers.get(b"origin")
        known = {
            each.encode() for each in self.proxies if each.endswith(f"://{host.decode('latin-1')}")
        }
        return bool(known) and origin in (None, *known)

    def is_secret(self, given: bytes) -> bool:
        """Return whether this is the secret, in a time that says nothing about its letters."""
        return bool(given) and hmac.compare_digest(given, self.secret)
