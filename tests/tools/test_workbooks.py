"""The copies that learners work in: without outputs, and never written over."""

from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

from tools.copies import copy
from tools.lab.workbooks import copy_new
from tools.notebooks.pages import write_pages
from tools.pages.folder import ROOT
from tools.pages.links import links


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


def test_a_copy_links_to_the_pages_that_are_written_for_jupyterlab(root: Path) -> None:
    file = root / "notebooks" / "02-a.ipynb"
    notebook = nbformat.read(file, as_version=4)
    text = "[a](../learners/setup.md#trouble), `../learners/`, [b](03-b.ipynb)"
    notebook.cells.append(nbformat.v4.new_markdown_cell(text))
    nbformat.write(notebook, file)
    (copy,) = copy_new(root)
    assert nbformat.read(copy, as_version=4).cells[-1].source == (
        "[a](pages/setup.md#trouble), `../learners/`, [b](03-b.ipynb)"
    )


def test_every_link_of_the_copies_and_their_pages_leads_to_a_file(tmp_path: Path) -> None:
    copy(ROOT, tmp_path)
    copy_new(tmp_path)
    write_pages(tmp_path)
    texts = {path: path.read_text() for path in (tmp_path / "work/pages").glob("*.md")}
    for path in (tmp_path / "work").glob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        texts[path] = "\n\n".join(each.source for each in cells if each.cell_type == "markdown")
    found = 0
    for path, text in texts.items():
        for link in links(text, {}):
            name = unquote((link.target or "").partition("#")[0])
            if link.form == "markdown" and name and ":" not in name:
                found += 1
                assert (path.parent / name).exists(), (path.name, name)
    assert found > 200
