"""The page on PyTorch shows what its cells print."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tools.pages.folder import read_page
from tools.pages.scanner import Code

PAGE = Path(__file__).parents[2] / "learners" / "pytorch.md"


def test_the_cells_print_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = [block for block, _ in read_page(PAGE).walk() if isinstance(block, Code)]
    names: dict[str, object] = {}
    ran = 0
    for cell, output in pairwise(blocks):
        if cell.live:
            exec(compile(cell.text, str(PAGE), "exec"), names)
            assert capsys.readouterr().out.strip() == output.text.strip()
            ran += 1
    assert ran == sum(block.live for block in blocks) > 4
