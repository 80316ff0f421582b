"""The copies that learners work in: without outputs, and never written over."""

from pathlib import Path

import nbformat
import pytest

from tools.workbooks import copy_new


@pytest.fixture
def root(tmp_path: Path) -> Path:
    notebook = nbformat.v4.new_notebook()
    output = nbformat.v4.new_output("stream", name="stdout", text="2\n")
    notebook.cells.append(nbformat.v4.new_code_cell("1 + 1", outputs=[output], execution_count=1))
    (tmp_path / "notebooks" / "instructor").mkdir(parents=True)
    nbformat.write(notebook, tmp_path / "notebooks" / "02-a.ipynb")
    nbformat.write(notebook, tmp_path / "notebooks" / "instructor" / "02-a.ipynb")
    return tmp_path


def test_a_copy_looks_as_if_nothing_had_been_run(root: Path) -> None:
    assert copy_new(root) == [root / "work" / "02-a.ipynb"]
    (cell,) = nbformat.read(root / "work" / "02-a.ipynb", as_version=4).cells
    assert (cell.source, cell.outputs, cell.execution_count) == ("1 + 1", [], None)


def test_nobodys_answers_are_lost(root: Path) -> None:
    copy_new(root)
    (root / "work" / "02-a.ipynb").write_text("my answers")
    assert copy_new(root) == []
    assert (root / "work" / "02-a.ipynb").read_text() == "my answers"


def test_a_deleted_copy_is_made_afresh(root: Path) -> None:
    (copy,) = copy_new(root)
    copy.unlink()
    assert copy_new(root) == [copy]


def test_the_pages_that_notebooks_link_to_come_along_and_are_the_newest(root: Path) -> None:
    page = root / "notebooks" / "pages" / "setup.md"
    for text in ("old", "new"):
        page.parent.mkdir(exist_ok=True)
        page.write_text(text)
        copy_new(root)
        assert (root / "work" / "pages" / "setup.md").read_text() == text
