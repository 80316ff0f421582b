"""Who may import whom, and that importing is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"GCP_helpers", "AWS_helpers", "lesson", "local_cloud", "tools", "data", "benchmarks"}
OURS |= {"training", "tests"}

# package -> which of ours it may import
ALLOWED = {"training": set(), "lesson": {"lesson"}, "tools": {"tools"}, "data": {"data"}}


def imported(path: Path) -> set[str]:
    """The top-level names that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_keep_to_the_design(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        assert imported(path) & OURS <= ALLOWED[package], path


def test_importing_lesson_loads_the_standard_library_only() -> None:
    code = (
        "import sys; before = set(sys.modules); import lesson;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['lesson']\n"
