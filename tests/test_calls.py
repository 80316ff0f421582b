"""A call's arguments are written one by one: `f(*("a", "b"))` only keeps the formatter from it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ["AWS_helpers", "GCP_helpers", "lesson", "local_cloud", "tools", "training"]


def splats(path: Path) -> list[str]:
    """Name the calls that unpack a tuple or a list which is written out there."""
    return [
        f"{path.name}:{argument.lineno}"
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        for argument in call.args
        if isinstance(argument, ast.Starred)
        and isinstance(argument.value, ast.Tuple | ast.List)
        and argument.value.elts
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_call_unpacks_what_is_written_out_there(package: str) -> None:
    assert [one for path in sorted((ROOT / package).rglob("*.py")) for one in splats(path)] == []


def test_an_unpacked_tuple_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("f(*(1, 2))\nf(*more)\n")
    assert splats(path) == ["a.py:1"]
