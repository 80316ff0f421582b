"""The code that a run keeps beside its model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lesson import LessonError
from lesson.jobs import code
from lesson.jobs.runs import Run

SCRIPT = code.FOLDER / code.SCRIPT


def run_in(folder: Path) -> Run:
    return Run("this machine", "", 1.0, 0.8, 0.4, str(folder))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a training of the lesson's own code leaves of its code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    for file in (SCRIPT, code.FOLDER / "serve_nn.py"):
        shutil.copy(file, "results")
    return tmp_path / "results"


def test_the_lessons_own_code_is_in_the_lessons_folder(results: Path) -> None:
    assert code.folder_of(run_in(results)) == code.FOLDER


def test_a_changed_copy_is_laid_out_with_all_that_it_is_sent_with(results: Path) -> None:
    changed = (results / code.SCRIPT).read_text().replace("[64, 32]", "[8]")
    (results / code.SCRIPT).write_text(changed)
    (results / "own_layers.py").write_text("WIDTH = 8\n")
    folder = code.folder_of(run_in(results))
    assert folder == Path("runs/code") / code.digest(results)
    assert (folder / code.SCRIPT).read_text() == changed
    names = {file.name for file in code.FOLDER.glob("*.py")} | {"own_layers.py"}
    assert {file.name for file in folder.iterdir()} == names
    assert code.folder_of(run_in(results)) == folder  # the second time it is there


def test_equal_code_has_an_equal_digest_whatever_else_lies_beside_it(
    results: Path, tmp_path: Path
) -> None:
    first = code.digest(results)
    shutil.copy(code.FOLDER / "big_tables.py", results)  # imported for a large table alone
    (results / "model.pt").write_bytes(b"weights")
    assert code.digest(results) == first and len(first) == 7
    (results / "own_layers.py").write_text("WIDTH = 8\n")
    assert code.digest(results) != first
    assert code.digest(tmp_path) == ""  # a run of an older script


def test_a_folder_without_the_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match=r"there is no train_nn.py in this folder; copy"):
        code.folder_of(tmp_path)


def test_the_score_has_the_name_in_the_script(tmp_path: Path) -> None:
    assert code.score_name(code.FOLDER) == "accuracy"
    (tmp_path / code.SCRIPT).write_text('LABELS = ()\nSCORE = "r2"  # the share of the variance\n')
    assert code.score_name(tmp_path) == "r2"
