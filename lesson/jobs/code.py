"""The code of a run: train_nn.py and the files beside it, as sent, and as kept with the results.

A training writes a copy of its code beside its model. So whoever has a run's results, in another
notebook or a month later, can tune, deploy and register with the network that was trained.
"""

from __future__ import annotations

import ast
import hashlib
import shutil
import tempfile
from pathlib import Path

from lesson import ROOT, LessonError
from lesson.jobs.runs import Run

FOLDER = ROOT / "training"  # the lesson's own code
SCRIPT = "train_nn.py"
# What a pipeline sends of the lesson: its step that prepares a table imports these.
PREPARES = (
    ROOT / "lesson/__init__.py",
    ROOT / "lesson/preparation.py",
    *sorted((ROOT / "lesson/own_table").glob("*.py")),
)
KEPT = Path("runs/code")  # folders with the code of runs, each named by its digest


def folder_of(code: str | Path | Run) -> Path:
    """Return the folder with the code of a copy, or of a run; raise LessonError without any."""
    if isinstance(code, Run):
        return _folder_of_run(code)
    if not (Path(code) / SCRIPT).is_file():
        raise LessonError(
            f"{code}: there is no {SCRIPT} in this folder; copy the folder training/, and name the "
            "copy"
        )
    return Path(code)


def _folder_of_run(run: Run) -> Path:
    """Return the lesson's folder, or one with the files of the run in place of the lesson's."""
    own = _changed_files(run.folder)
    if not own:
        return FOLDER
    folder = KEPT / digest(run.folder)
    if not folder.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as place:
            made = Path(place, "code")
            made.mkdir()
            for file in [*FOLDER.glob("*.py"), *own]:
                shutil.copy(file, made)
            made.rename(folder)  # whole, or not at all
    return folder


def digest(results: Path) -> str:
    """Return a short text that is the same for the same code; "" if the results hold none."""
    script = results / SCRIPT
    if not script.is_file():
        return ""
    content = hashlib.sha256()
    for file in [script, *_changed_files(results)]:
        content.update(file.name.encode() + b"\0" + file.read_bytes())
    return content.hexdigest()[:7]


def _changed_files(results: Path) -> list[Path]:
    """Return the files of code beside a model that are not those of the lesson."""
    return [file for file in sorted(results.glob("*.py")) if not _is_same(file, FOLDER / file.name)]


def _is_same(file: Path, other: Path) -> bool:
    return other.is_file() and file.read_bytes() == other.read_bytes()


def score_name(folder: Path) -> str:
    """Return what the code calls its score: SCORE of train_nn.py; "accuracy" if it has none."""
    for statement in ast.parse((folder / SCRIPT).read_text(encoding="utf-8")).body:
        match statement:
            case ast.Assign(targets=[ast.Name("SCORE")], value=ast.Constant(str(name))):
                return name
    return "accuracy"
