"""What is done to the real SDKs' modules, by the module's name."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from local_cloud.client.sdks import amazon, google, plain_http, tensorflow_files

HOOKS: dict[str, Callable[[ModuleType], None]] = {
    **plain_http.HOOKS,
    **google.HOOKS,
    **amazon.HOOKS,
    **tensorflow_files.HOOKS,
}
