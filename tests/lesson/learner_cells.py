"""The cells of a part of a page as learners have them, run in a copy of the lesson."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest import mock

import nbclient
import nbformat

import local_cloud
from tools.copies import copy
from tools.notebooks.cells import OPENING
from tools.pages.folder import ROOT
from tools.pages.scanner import Block, Code, walk


def live_cells(blocks: list[Block]) -> list[str]:
    """The live cells among blocks, without those of solutions and of the instructor's notes."""
    return [
        block.text
        for block, around in walk(blocks)
        if isinstance(block, Code)
        and block.live
        and not any({"solution", "instructor"} & set(div.classes) for div in around)
    ]


def run_cells(texts: list[str]) -> str:
    """Run cells in one kernel and a local cloud of their own; return what the last one printed."""
    book = nbformat.v4.new_notebook()
    for text in [OPENING, *texts]:
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
                local_cloud.stop()
    return "".join(out.text for out in book.cells[-1].outputs if out.get("name") == "stdout")
