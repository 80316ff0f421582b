"""The threat-model page names a test for each defence, and each of these tests is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "local-cloud" / "docs" / "threat-model.md").read_text(encoding="utf-8")
DEFENDED, _, OPEN = PAGE.partition("## What is not defended")
ROWS = [
    line
    for line in DEFENDED.splitlines()
    if line.startswith("| ") and not re.search(r"\| test \|$", line)
]


def named(row: str) -> list[str]:
    return re.findall(r"`((?:local-cloud/)?tests/[^`]+)`", row)


@pytest.mark.parametrize("row", ROWS)
def test_each_defence_has_a_test_that_is_there(row: str) -> None:
    assert named(row), "this line names no test"
    for name in named(row):
        file, *path = name.split("::")
        body: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        for part in path:
            matching = [one for one in body if getattr(one, "name", None) == part]
            assert matching, f"{file} has no {part}"
            body = matching[0].body  # type: ignore[attr-defined]


def test_what_is_not_defended_is_said() -> None:
    assert len(ROWS) > 15
    assert OPEN.count("\n- **") >= 5
