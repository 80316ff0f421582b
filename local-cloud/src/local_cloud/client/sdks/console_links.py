"""The links that SDKs print to the pages of the clouds, made to lead to the local cloud's console.

What follows the host is kept, for it names the thing: the console finds it by that.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from local_cloud.client.target import is_local

# Pages about jobs, models and files; not those about an account, such as quotas.
GOOGLE = re.compile(
    r"https://console\.cloud\.google\.com/((?:agent-platform|vertex-ai|ai|storage)/[^\s?#\"'<>]+)"
    r"(?:\?[^\s\"'<>]*)?"
)
AMAZON = re.compile(
    r"https://(?:[a-z0-9-]+\.)?console\.aws\.amazon\.com/((?:sagemaker|cloudwatch)/[^\s?#\"'<>]*)"
    r"(?:\?[^\s#\"'<>]*)?(?:#([^\s\"'<>]*))?"
)
# How a page's address within a page is written: twice encoded, with a dollar sign.
ENCODED = re.compile(r"(?:\$252F|\$3F|\$3D|[#=/])+")


def to_console(text: str) -> str:
    """Return the text, with links to the console of the local cloud that this process uses."""
    url = urlsplit(os.environ.get("LOCAL_CLOUD_VERTEX_URL", ""))
    if "console." not in text or not url.netloc or not is_local():
        return text
    root = f"http://{url.netloc}/console/at/"
    text = GOOGLE.sub(lambda match: root + match[1], text)
    return AMAZON.sub(lambda match: root + match[1] + ENCODED.sub("/", f"/{match[2] or ''}"), text)


def link_here(*names: str) -> Callable[[ModuleType], None]:
    """Return a hook: the links that these functions of the module return lead to our console."""

    def hook(module: ModuleType) -> None:
        for name in names:
            original = getattr(module, name, None)  # not every version has each
            if original is None or hasattr(original, "__wrapped__"):
                continue

            @functools.wraps(original)
            def link(*args: Any, _original: Any = original, **kwargs: Any) -> Any:
                address = _original(*args, **kwargs)
                return to_console(address) if isinstance(address, str) else address

            setattr(module, name, link)

    return hook
