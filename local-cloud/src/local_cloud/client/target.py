"""The target: whether everything stays on this machine, and what is refused if it does.

It is set by an environment variable that has two names. No other file reads them.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from local_cloud.client import peers
from local_cloud.errors import LocalCloudError

NAMES = ("LOCAL_CLOUD_TARGET", "LESSON_TARGET")  # the second is an alias, for course material
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


def target() -> str:
    """Return the target as it is set: "local" if it is not.

    LocalCloudError if both names of the variable are set, and differ.
    """
    found = {name: os.environ[name] for name in NAMES if name in os.environ}
    if len(set(found.values())) > 1:
        both = " and ".join(f"{name} is {value!r}" for name, value in found.items())
        raise LocalCloudError(f"{both}: they mean the same, so unset one of them")
    return next(iter(found.values()), "local")


def variable() -> str:
    """Return the name of the variable, as a message says it: the one that the user has set."""
    return next((name for name in NAMES if name in os.environ), NAMES[0])


def is_local() -> bool:
    """Return whether everything stays on this machine.

    It does unless the target is cloud, to the letter; of two that differ, the local one counts.
    """
    return {os.environ[name] for name in NAMES if name in os.environ} != {"cloud"}


def stay_local() -> None:
    """Have everything stay on this machine, whatever the user has set."""
    for name in NAMES:
        os.environ.pop(name, None)


def require_local(otherwise: str) -> None:
    """Raise LocalCloudError if the target is cloud, or is not clear; `otherwise` ends it."""
    if target() == "cloud":
        raise LocalCloudError(f"{variable()} is cloud, {otherwise}")


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
        what = f"a request to {host} was stopped, because {variable()} is local"
        raise LocalCloudError(what + _next_step(str(host)))


def _next_step(host: str) -> str:
    """Return the rest of the refusal: why the host was asked, and what to do."""
    real = real_service()
    if not (host.endswith(CLOUDS) and HERE.intersection(re.split(r"[.-]", host))):
        return f" and {host} is not part of the local cloud; {real}"
    return (
        "; the local cloud answers over REST at its own URL: call local_cloud.activate(), then make"
        f" the client without a transport, an endpoint or credentials of its own, or {real}"
    )


def real_service() -> str:
    """Return the end of a refusal: what to do to use the real service."""
    return f"restart the kernel with {variable()}=cloud to use the real service"
