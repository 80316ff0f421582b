"""Who has signed in: links that work once, and cookies that outlive the server.

The secret of the local cloud never stands in the URL of a page: a browser keeps a history of those.
A link holds a code that works once and soon expires; a request with it gets a cookie. A cookie is
signed with the secret and stored nowhere, so a restart of the server signs nobody out, and a new
secret signs everybody out.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

LINK_SECONDS = 120.0
SESSION_SECONDS = 12 * 3600
MOST_LINKS = 16  # unused ones; the oldest makes room


class Sessions:
    """The links that have not been used, and what is true of a cookie."""

    def __init__(self, secret: str, port: int) -> None:
        """secret: the local cloud's; port: cookies are shared by all ports of a host."""
        self._secret = secret.encode()
        self.cookie = f"local-cloud-{port}"
        # Where else the browser sees this server: behind a proxy that the user has named.
        self.origins: set[str] = set()
        self._links: dict[str, float] = {}  # when each expires, the oldest first

    def link(self) -> str:
        """Return a new code that signs in once."""
        while len(self._links) >= MOST_LINKS:
            del self._links[next(iter(self._links))]
        code = secrets.token_urlsafe(32)
        self._links[code] = time.monotonic() + LINK_SECONDS
        return code

    def enter(self, code: str) -> str | None:
        """Return the cookie's value for an unused code; None for any other."""
        if self._links.pop(code, 0.0) < time.monotonic():
            return None
        begun = f"{int(time.time()) + SESSION_SECONDS}.{secrets.token_urlsafe(16)}"
        return f"{begun}.{self._proof('session', begun)}"

    def is_valid(self, cookie: str) -> bool:
        """Return whether this is the value of a cookie that was given, and not too long ago."""
        begun, _, proof = cookie.rpartition(".")
        if not self._is(proof, "session", begun):
            return False
        return int(begun.partition(".")[0]) > time.time()

    def form_token(self, cookie: str) -> str:
        """Return what a form of this session holds, so that no other page's form passes for one."""
        return self._proof("form", cookie)

    def is_form_token(self, given: str, cookie: str) -> bool:
        """Return whether a form with this token is one of this session."""
        return self._is(given, "form", cookie)

    def _is(self, given: str, *words: str) -> bool:
        return hmac.compare_digest(given.encode(), self._proof(*words).encode())

    def _proof(self, *words: str) -> str:
        return hmac.new(self._secret, "\n".join(words).encode(), hashlib.sha256).hexdigest()
