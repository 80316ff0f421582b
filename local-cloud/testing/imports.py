"""What a Python file imports, by its text."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest


def imported(path: Path) -> set[str]:
    """The top-level names that a file imports, anywhere in it."""
    return names_imported(ast.parse(path.read_text(encoding="utf-8")))


def names_imported(tree: ast.AST) -> set[str]:
    """The top-level names that a part of a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@functools.cache  # a file is asked about by many tests
def modules(path: Path) -> frozenset[str]:
    """The modules and names that a file imports, each in full."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def import_graph(paths: Iterable[Path], root: Path) -> dict[str, set[str]]:
    """Return which of some modules each one imports; their packages are folders of `root`."""
    files = {module_name(path, root): path for path in paths}
    return {
        name: {near for each in modules(path) if (near := _nearest(each, files)) and near != name}
        for name, path in files.items()
    }


def module_name(path: Path, root: Path) -> str:
    """The name by which a file is imported, if `root` is on the path."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _nearest(name: str, files: dict[str, Path]) -> str:
    """The module that this name is, or that it is in; "" for one of another package."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name


def require_no_circle(graph: dict[str, set[str]]) -> None:
    """Fail with the modules of a circle, in the order in which they import each other."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        pytest.fail(" imports ".join(reversed(problem.args[1])))
