"""Notebooks that are made from a page, for the tests that look at them."""

from pathlib import Path

import nbformat

from tools.notebooks import __main__ as notebooks

PAGE = "episodes/01-count.md"


def notebook(root: Path, instructor: bool = False, name: str = "01-count") -> nbformat.NotebookNode:
    notebooks.write(root)
    folder = root / "notebooks" / ("instructor" if instructor else "")
    return nbformat.read(folder / f"{name}.ipynb", as_version=4)


def with_body(root: Path, body: str) -> None:
    (root / PAGE).write_text(f"---\ntitle: T\nteaching: 1\nexercises: 1\n---\n\n{body}\n")


def markdown(root: Path, body: str, instructor: bool = False) -> str:
    """All Markdown of the notebook of a page, without the title cell."""
    with_body(root, body)
    cells = notebook(root, instructor).cells[1:]
    return "\n====\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def code(root: Path, body: str, instructor: bool = False) -> list[nbformat.NotebookNode]:
    with_body(root, body)
    return [cell for cell in notebook(root, instructor).cells[2:] if cell.cell_type == "code"]
