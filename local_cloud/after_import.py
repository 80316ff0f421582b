"""Hooks that run after a module's first import, since SDKs are not loaded just for them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _AfterImport(MetaPathFinder):
    """The first of the finders; it leaves the finding to the others."""

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


def after_import(name: str, hook: Callable[[ModuleType], None]) -> None:
    """Call hook with the module of this name: now, or as soon as it has been imported."""
    if name in sys.modules:
        hook(sys.modules[name])
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.hooks[name] = hook
