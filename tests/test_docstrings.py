"""A function's docstring begins with a verb in the imperative: “Return …”, “Write …”.

Ruff's rule D401 notices “The”, “What” and “Returns”. These are the openings that it lets pass.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = [
    "AWS_helpers",
    "GCP_helpers",
    "data",
    "lesson",
    "local-cloud/benchmarks",
    "local-cloud/src",
    "local-cloud/tools",
    "examples/taxifare",
    "tools",
    "training",
]
# Articles, pronouns, question words, prepositions, nouns, and verbs in the third person.
OPENINGS = """
A After All An Another Any As At Both By Bytes Each Every Everything Files First For Forgets Four
From How If In Into It Its Lines Milliseconds Minutes Names New No None Not Nothing Of On One Only
Opens Others Raises Returns Rows Seconds So Some Sorted Ten That The There These They This Those To
Two Under Until Values What Whatever When Where Whether Which Who Whole Whose Why With Without
"""
NOT_A_VERB = frozenset(OPENINGS.split())


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def wrong(path: Path) -> list[str]:
    """Name the functions whose docstring begins with no verb."""
    faults = []
    for function in functions(path):
        words = re.findall(r"\w+", ast.get_docstring(function) or "")
        if words and words[0] in NOT_A_VERB:
            faults.append(f"{path.name}:{function.lineno} {function.name}: {words[0]} …")
    return faults


@pytest.mark.parametrize("package", PACKAGES)
def test_a_function_s_docstring_begins_with_a_verb(package: str) -> None:
    assert [one for path in sorted((ROOT / package).rglob("*.py")) for one in wrong(path)] == []


def test_a_noun_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text('def f():\n    """The answer."""\n\ndef g():\n    """Return the answer."""\n')
    assert wrong(path) == ["a.py:1 f: The …"]
