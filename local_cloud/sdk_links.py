"""Links that SDKs print to the clouds' pages lead to the console of the local cloud."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from local_cloud.links import to_console


def link_here(*names: str) -> Callable[[ModuleType], None]:
    """A hook: the links that these functions of the module return lead to our console."""

    def hook(module: ModuleType) -> None:
        for name in names:
            original = getattr(module, name, None)  # not every version has each
            if original is None or hasattr(original, "__wrapped__"):
                continue

            @functools.wraps(original)
            def link(*args: Any, _original: Any = original, **kwargs: Any) -> Any:
                found = _original(*args, **kwargs)
                return to_console(found) if isinstance(found, str) else found

            setattr(module, name, link)

    return hook
