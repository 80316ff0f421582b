"""Progress in a notebook: outputs that change in place, and notes that do not look like errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tools.environment.kernel import install_lesson

ROOT = Path(__file__).parents[3]
CELLS = {
    "progress": (
        "from lesson.show.progress import Display, Progress\n"
        "display = Display()\n"
        "for epoch in (1, 2, 3):\n"
        "    display.show(Progress('training', epoch, 3))\n"
        "display.close()"
    ),
    "training": (
        "from lesson.machines import this_machine\n"
        "from lesson.preparation import prepare\n"
        f"data = prepare({str(ROOT / 'data/titanic_train.csv')!r}, 'data')\n"
        "run = this_machine.train({'train': data.train, 'val': data.val, 'epochs': 20})"
    ),
    "notes": (
        "import local_cloud, os, tempfile\n"
        "from lesson.show.progress import note\n"
        "note('Loading ...')\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    os.environ['LOCAL_CLOUD_HOME'] = folder\n"
        "    local_cloud.activate()\n"
        "    local_cloud.stop()\n"
    ),
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[nbformat.NotebookNode]]:
    """What a notebook has below each cell; run by nbclient, as Jupyter would."""
    notebook = tmp_path_factory.mktemp("cells") / "notebook.ipynb"
    install_lesson(notebook.parent / "profile_default")
    cells = [nbformat.v4.new_code_cell(code) for code in CELLS.values()]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), notebook)
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace"]
    subprocess.run(
        [*command, str(notebook)],
        check=True,
        capture_output=True,
        env=os.environ | {"IPYTHONDIR": str(notebook.parent)},
    )
    run = nbformat.read(notebook, as_version=4).cells
    return {name: cell.outputs for name, cell in zip(CELLS, run, strict=True)}


def test_notes_do_not_look_like_errors_in_a_notebook(
    outputs: dict[str, list[nbformat.NotebookNode]],
) -> None:
    notes = outputs["notes"]
    assert {output.name for output in notes} == {"stdout"}
    assert "".join(output.text for output in notes).splitlines() == [
        "Loading ...", "Starting the local cloud ...", "Stopping the local cloud ...",
    ]  # fmt: skip


def test_a_training_here_has_a_bar_and_a_curve_above_its_lines(
    outputs: dict[str, list[nbformat.NotebookNode]],
) -> None:
    bar, *lines = outputs["training"]
    assert bar.data["text/plain"].startswith("[####################] succeeded  epoch 20 of 20")
    assert bar.data["text/html"].count(",") > 15  # a point for each epoch, not for each line
    assert "in epoch 1, " in bar.data["text/html"] and "in epoch 20<" in bar.data["text/html"]
    assert "epoch    20" in "".join(each.text for each in lines)


def test_a_notebook_has_one_output_that_changes(
    outputs: dict[str, list[nbformat.NotebookNode]],
) -> None:
    (output,) = outputs["progress"]
    assert "epoch 3 of 3" in output.data["text/html"]
    assert output.data["text/plain"].startswith("[####################] training")
