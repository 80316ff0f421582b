"""Hooks that run after each import and reload of a module: SDKs are not loaded just for them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _AfterImport:
    """The first of the finders; it leaves the finding to the others."""

    def __init__(self) -> None:
        self.hooks: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module that has a hook, so that the hook runs as soon as the module has."""
        hook = self.hooks.get(name)
        spec = self._find_by_others(name, path, target) if hook else None
        if spec is None or spec.loader is None or hook is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            hook(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _find_by_others(self, name: str, path: Any, target: Any) -> ModuleSpec | None:
        # Not importlib.util.find_spec: on a reload it returns the old one, whose hook has run.
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)):
                return spec
        return None


finder = _AfterImport()


def after_import(name: str, hook: Callable[[ModuleType], None]) -> None:
    """Call hook with the module of this name, now or as soon as it is imported; and on reloads."""
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    finder.hooks[name] = hook
    if name in sys.modules:
        hook(sys.modules[name])
