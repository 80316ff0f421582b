"""The target: whether everything stays on this machine, and what is refused if it does."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from local_cloud.client import peers
from local_cloud.errors import LocalCloudError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Words in the hosts of what the local cloud has, of Google's and of Amazon's services.
HERE = {
    "aiplatform",
    "bigquery",
    "cloudresourcemanager",
    "logging",
    "oauth2",
    "storage",
    "iam",
    "logs",
    "s3",
    "sagemaker",
    "sts",
}
CLOUDS = (".googleapis.com", ".amazonaws.com")
# Of these hosts, those with public data.
DATA = re.compile(r"(.+\.)?storage\.googleapis\.com|(.+\.)?s3[.-].*amazonaws\.com")


def is_local() -> bool:
    """Return whether everything stays on this machine.

    It does unless LESSON_TARGET is cloud, to the letter.
    """
    return os.environ.get("LESSON_TARGET") != "cloud"


def is_api(host: str) -> bool:
    """Return whether this is a host of one of the clouds, and not one with public data."""
    return host.endswith(CLOUDS) and not DATA.fullmatch(host)


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
        what = f"a request to {host} was stopped, because LESSON_TARGET is local"
        raise LocalCloudError(what + _next_step(str(host)))


def _next_step(host: str) -> str:
    """Return the rest of the refusal: why the host was asked, and what to do."""
    real = "restart the kernel with LESSON_TARGET=cloud to use the real service"
    if not (host.endswith(CLOUDS) and HERE.intersection(re.split(r"[.-]", host))):
        return f" and {host} is not part of the local cloud; {real}"
    return (
        "; the local cloud answers over REST at its own URL: call local_cloud.activate(), then make"
        f" the client without a transport, an endpoint or credentials of its own, or {real}"
    )
