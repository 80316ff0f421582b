"""The target: whether everything stays on this machine, and what is refused if it does."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from local_cloud.client import peers
from local_cloud.errors import LocalCloudError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_local() -> bool:
    """Return whether everything stays on this machine.

    It does unless LESSON_TARGET is cloud, to the letter.
    """
    return os.environ.get("LESSON_TARGET") != "cloud"


def refuse_elsewhere(address: str) -> None:
    """Raise LocalCloudError unless the URL is on loopback, and no other user's program is there.

    While the local cloud does not run its port may be taken by anybody, and requests hold the
    secret and the user's data.
    """
    parts = urlsplit(address if "://" in address else f"//{address}")
    host = parts.hostname
    if host in LOOPBACK and parts.port and peers.is_taken(parts.port):
        raise LocalCloudError(
            f"a request was stopped, because another user's program has port {parts.port} now; "
            "restart the kernel and call local_cloud.activate()"
        )
    if host not in LOOPBACK and is_local():
        raise LocalCloudError(
            f"a request to {host} was stopped, because LESSON_TARGET is local; restart the kernel "
            "and call local_cloud.activate() before any client is made, or set it to cloud to use "
            "the real service"
        )
