"""Point this process's real SDKs at the local cloud, and keep them from going anywhere else."""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from local_cloud import LocalCloudError, control
from local_cloud.home import Home, default_folder

PROJECT = "local-project"
NO_PROXY = "127.0.0.1,localhost"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def environment(url: str) -> dict[str, str]:
    """The variables that point SDKs and command lines at the server with this address."""
    return {
        "LOCAL_CLOUD_VERTEX_URL": url,
        "STORAGE_EMULATOR_HOST": url,
        "GOOGLE_CLOUD_PROJECT": PROJECT,
        "NO_GCE_CHECK": "true",  # google-auth would look for a metadata server
        "NO_PROXY": NO_PROXY,
        "no_proxy": NO_PROXY,  # where both are set, this one counts
    }


def added_to(own: Mapping[str, str], url: str) -> dict[str, str]:
    """The same, where the user's own words hold: his project, and where he needs no proxy."""
    wanted = environment(url)
    if project := own.get("GOOGLE_CLOUD_PROJECT"):
        wanted["GOOGLE_CLOUD_PROJECT"] = project
    # A proxy must not see loopback's requests, nor the secret in them.
    hosts = (own.get("no_proxy") or own.get("NO_PROXY") or "").split(",")
    for name in ("NO_PROXY", "no_proxy"):
        wanted[name] = ",".join(dict.fromkeys([*NO_PROXY.split(","), *filter(None, hosts)]))
    return wanted


def export_lines(url: str, folder: str) -> str:
    """The same as lines for a shell with this process's environment, and where the home is."""
    wanted = added_to(os.environ, url) | {"LOCAL_CLOUD_HOME": folder}
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in wanted.items())


def activate() -> control.Status:
    """Start the local cloud if need be, and point this process's SDKs at it.

    Unchanged code then works: `storage.Client()`, `aiplatform.init(project=..., location=...,
    staging_bucket=...)`. It may be called before or after the SDKs are imported, and again. A
    server that the environment names (`python -m local_cloud env`) is used as it is. Raises
    LocalCloudError under LESSON_TARGET=cloud, or if the server does not start.
    """
    if os.environ.get("LESSON_TARGET", "local") == "cloud":
        raise LocalCloudError(
            "LESSON_TARGET is cloud, so the SDKs stay with the real one; unset it to work locally"
        )
    home = Home(default_folder())
    named = os.environ.get("LOCAL_CLOUD_VERTEX_URL")
    found = control.status(home)
    if not named or named != found.url:
        found = control.start(control.own(home))
    assert found.url is not None
    os.environ.update(added_to(os.environ, found.url))
    for module, hook in HOOKS.items():
        _after_import(module, hook)
    return found


# ---- what is done to an SDK's module once it is loaded -------------------------------------------
def _point_aiplatform(aiplatform: ModuleType) -> None:
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.aiplatform import jobs, training_jobs

    aiplatform.init(
        api_endpoint=os.environ["LOCAL_CLOUD_VERTEX_URL"],
        api_transport="rest",
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
    )
    # The SDK sleeps five seconds between two looks at a job. The server holds each look until the
    # state changes, so here it need not sleep at all.
    jobs._JOB_WAIT_TIME = training_jobs._JOB_WAIT_TIME = 0


def refuse_elsewhere(address: str) -> None:
    """Raise LocalCloudError unless the address is on loopback."""
    host = urlsplit(address if "://" in address else f"//{address}").hostname
    if host not in LOOPBACK and os.environ.get("LESSON_TARGET", "local") == "local":
        raise LocalCloudError(
            f"a request to {host} was stopped, because LESSON_TARGET is local; set it to cloud and "
            "restart the kernel to use the real service"
        )


def _guard_requests(module: ModuleType) -> None:
    session = module.AuthorizedSession
    if hasattr(session.request, "__wrapped__"):
        return
    original = session.request

    @functools.wraps(original)
    def request(self: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        refuse_elsewhere(url)
        return original(self, method, url, *args, **kwargs)

    session.request = request

    # What fetches and renews the tokens of real credentials has a session of its own.
    fetch = module.Request.__call__

    @functools.wraps(fetch)
    def call(self: Any, url: str, *args: Any, **kwargs: Any) -> Any:
        refuse_elsewhere(url)
        return fetch(self, url, *args, **kwargs)

    module.Request.__call__ = call


def _guard_channels(module: ModuleType) -> None:
    if hasattr(module.create_channel, "__wrapped__"):
        return
    original = module.create_channel

    @functools.wraps(original)
    def create_channel(target: str, *args: Any, **kwargs: Any) -> Any:
        refuse_elsewhere(target)
        return original(target, *args, **kwargs)

    module.create_channel = create_channel  # type: ignore[attr-defined]


HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "google.cloud.aiplatform": _point_aiplatform,
    "google.auth.transport.requests": _guard_requests,
    "google.api_core.grpc_helpers": _guard_channels,
    "google.api_core.grpc_helpers_async": _guard_channels,
}


class _AfterImport(MetaPathFinder):
    """Runs a hook after a module's first import: an SDK takes seconds, so none is loaded here."""

    def __init__(self) -> None:
        self.hooks: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        hook = self.hooks.pop(name, None)
        spec = importlib.util.find_spec(name) if hook else None  # by the finders after this one
        if spec is None or spec.loader is None or hook is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            hook(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_finder = _AfterImport()


def _after_import(name: str, hook: Callable[[ModuleType], None]) -> None:
    if name in sys.modules:
        hook(sys.modules[name])
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.hooks[name] = hook
