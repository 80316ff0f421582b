"""JupyterLab opens with a page that leads to every notebook."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools.lab.start_page import NAME, cells_run, write


def test_the_page_leads_to_every_notebook_with_its_minutes(clean_lesson: Path) -> None:
    (clean_lesson / "notebooks").mkdir(exist_ok=True)
    (clean_lesson / "notebooks" / "01-count.ipynb").touch()
    path = write(clean_lesson)
    assert path == clean_lesson / "work" / NAME
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Count things\n")
    assert re.findall(r"^\| \[.*$", text, re.MULTILINE) == [
        "| [01 Count things](01-count.ipynb) | 20 |  |"
    ]
    assert "**Begin here: [01 Count things](01-count.ipynb)**" in text
    assert "[this list](pages/setup.md#trouble)" in text and "(pages/reference.md)" in text
    assert "/console/" not in text and "\n\n\n" not in text
    address = "http://127.0.0.1:1/console/"
    assert f"({address})" in write(clean_lesson, address).read_text(encoding="utf-8")
    (clean_lesson / "notebooks" / "01-count.ipynb").unlink()
    assert "01-count" not in write(clean_lesson).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("counts", "words"),
    [([None, None], ""), ([1, None], "1 of 2"), ([1, 7], "✓ all"), ([], "")],
)
def test_the_page_says_how_much_of_a_notebook_was_run(
    tmp_path: Path, counts: list[int | None], words: str
) -> None:
    cells = [{"cell_type": "code", "execution_count": count} for count in counts]
    book = tmp_path / "01.ipynb"
    assert cells_run(book) == ""  # not there yet
    book.write_text("{")
    assert cells_run(book) == ""
    book.write_text(json.dumps({"cells": [{"cell_type": "markdown"}, *cells]}))
    assert cells_run(book) == words
