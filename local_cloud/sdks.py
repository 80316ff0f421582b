"""What is done to the real SDKs' modules, by the module's name."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from local_cloud import sdks_of_amazon, sdks_of_google
from local_cloud.redaction import redacting

HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "requests.exceptions": redacting("RequestException"),
    "urllib3.exceptions": redacting("HTTPError"),
    **sdks_of_google.HOOKS,
    **sdks_of_amazon.HOOKS,
}
