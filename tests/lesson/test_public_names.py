"""Episodes and helpers use what the SDKs offer in public: no name with an underscore before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "episodes").glob("*.md")), ROOT / "learners" / "from-v2.md"]
MODULES = [
    path
    for package in ("GCP_helpers", "AWS_helpers")
    for path in sorted((ROOT / package).glob("*.py"))
    if not path.is_symlink()
]
BLOCK = re.compile(r"^```\{?\.?python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
OF_PYTHON = {"os._exit"}  # documented, for all its underscore


def private(code: str) -> Iterator[str]:
    """The attributes that begin with one underscore, of anything but self."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a piece of something, for display, or a cell with a magic
        names = set(re.findall(r"\b\w+\._[a-z]\w*", code)) - OF_PYTHON
        yield from (name for name in names if not name.startswith("self."))
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
            name = ast.unparse(node)
            if not name.startswith("self.") and name not in OF_PYTHON:
                yield name


def test_a_private_attribute_is_seen() -> None:
    assert [*private("trainer._latest_training_job.name; self._mine; os._exit(0)")] == [
        "trainer._latest_training_job"
    ]
    assert [*private("%run script.py\ntrainer._name")] == ["trainer._name"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_uses_no_private_attribute(path: Path) -> None:
    blocks = BLOCK.findall(path.read_text(encoding="utf-8"))
    assert blocks and not [name for block in blocks for name in private(block)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_a_helper_uses_no_private_attribute(path: Path) -> None:
    assert not [*private(path.read_text(encoding="utf-8"))]
