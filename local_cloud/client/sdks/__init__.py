"""What is done to the real SDKs' modules, by the module's name."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from local_cloud.client.sdks import amazon, google
from local_cloud.client.sdks.redaction import redacting

HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "requests.exceptions": redacting("RequestException"),
    "urllib3.exceptions": redacting("HTTPError"),
    **google.HOOKS,
    **amazon.HOOKS,
}
