"""The main job, `make lesson`, in a folder of its own and against this worker's local cloud."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from local_cloud.control import Status

ROOT = Path(__file__).parents[1]
HERE = "import compare, pathlib, sys; sys.exit(compare.main(pathlib.Path('.')))"


def main_job(folder: Path, target: str = "local") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HERE],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "LESSON_TARGET": target},
        capture_output=True,
        text=True,
    )


def test_it_ends_with_a_row_of_each_run_and_a_picture(cloud: Status, tmp_path: Path) -> None:
    done = main_job(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    table, ending = done.stdout.split("\n\n")[-2:]
    heads, *rows = table.splitlines()
    assert heads.split()[:3] == ["place", "machine", "replicas"]
    accuracies = {row.split()[-2] for row in rows}
    assert len(rows) == 3 and len(accuracies) == 1  # one seed, one model, wherever it is trained
    picture = ending.splitlines()[0].removeprefix("The learning curve of the last run: ")
    assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_it_says_in_one_sentence_what_is_in_its_way(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where a folder belongs")
    done = main_job(tmp_path)
    assert done.returncode != 0 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("lesson: runs/data cannot be written")


def test_it_ends_in_one_sentence_when_the_target_is_wrong(tmp_path: Path) -> None:
    done = main_job(tmp_path, "moon")
    assert done.stderr == "lesson: LESSON_TARGET is 'moon'; set it to local or cloud, or unset it\n"
