"""A page's core runs without its optional sections and with no exercise answered.

`pytest -m slow tests/lesson/test_core.py` runs each page that has such sections, in a local cloud
of its own.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest import mock

import nbclient
import nbformat
import pytest

from local_cloud.client import control
from local_cloud.client.home import Home
from tools.cells import OPENING
from tools.copies import copy
from tools.folder import read_page
from tools.pace import split
from tools.scanner import Code, walk

ROOT = Path(__file__).parents[2]
PAGES = [path for path in (ROOT / "episodes").glob("*.md") if split(read_page(path).blocks)[1]]
LEFT = """
import AWS_helpers, GCP_helpers
for helpers in (GCP_helpers, AWS_helpers):
    helpers.connect()
    print(*helpers.list_jobs()["state"])
"""


def cells(page: Path) -> list[str]:
    """The live cells of a page's core as learners have them."""
    core, _ = split(read_page(page).blocks)
    return [
        block.text
        for block, around in walk(core)
        if isinstance(block, Code)
        and block.live
        and not any({"solution", "instructor"} & set(div.classes) for div in around)
    ]


def test_many_pages_have_optional_sections_and_the_core_leaves_them_out() -> None:
    assert {page.name[:2] for page in PAGES} >= {"07", "08", "09", "11", "12", "13"}
    assert not any("fully_shard" in cell for cell in cells(ROOT / "episodes/09-parallelism.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.stem)
def test_the_core_runs_unanswered_and_leaves_no_job_running(page: Path) -> None:
    book = nbformat.v4.new_notebook()
    for text in [OPENING, *cells(page), LEFT]:
        book.cells.append(nbformat.v4.new_code_cell(text))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        copy(ROOT, home / "lesson")
        with mock.patch.dict(os.environ, LOCAL_CLOUD_HOME=str(home / "local-cloud")):
            try:
                notebooks = str(home / "lesson" / "notebooks")
                nbclient.NotebookClient(
                    book, timeout=300, resources={"metadata": {"path": notebooks}}
                ).execute()
            finally:
                control.stop(Home(home / "local-cloud"))  # of the copy's code
    states = "".join(out.text for out in book.cells[-1].outputs if out.get("name") == "stdout")
    assert not {"running", "starting", "queued"} & set(states.split())
