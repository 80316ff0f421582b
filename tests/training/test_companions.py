"""The script sent alone, and sent with the folder of its companions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.support import SCRIPT, Replicas, cluster_specs, save, table


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz", **table(rows=41))


def started(script: Path, archive: Path, run: Path, *more: Any, replicas: int = 2) -> Replicas:
    flags = ("--train", archive, "--val", archive, "--model_dir", run, "--epochs", 3, *more)
    environments = [{"CLUSTER_SPEC": spec} for spec in cluster_specs(replicas)]
    return Replicas(environments, run.with_name("logs"), *flags, script=script)


def test_sent_alone_the_script_trains_one_model_as_two_replicas(
    archive: Path, tmp_path: Path
) -> None:
    alone = Path(shutil.copy(SCRIPT, tmp_path / "task.py"))  # so Vertex AI's SDK names one file
    with started(alone, archive, tmp_path / "run") as running:
        assert running.codes() == [0, 0], [log.read_text() for log in running.logs]
    assert (tmp_path / "run/model.pt").exists()


def test_sent_alone_it_says_which_flag_needs_the_folder(archive: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copy(SCRIPT, tmp_path / "task.py"))
    run, every = tmp_path / "run", ("--checkpoint_every", 1)
    with started(alone, archive, run, *every, replicas=1) as running:
        assert running.codes() == [2]
        sentence = "--checkpoint_every needs checkpoints.py; send the folder training/"
        assert running.said(0) == [f"train_nn.py: {sentence}, not one file alone"]


def test_the_folder_is_a_package_whose_module_task_is_the_script(
    archive: Path, tmp_path: Path
) -> None:
    """As Vertex AI's SDK packs it, under a name of its own."""
    shutil.copytree(SCRIPT.parent, tmp_path / "trainer", ignore=shutil.ignore_patterns("__py*"))
    run = tmp_path / "run"
    done = subprocess.run(
        [sys.executable, "-m", "trainer.task", f"--train={archive}", f"--val={archive}",
         "--epochs=3", f"--model_dir={run}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (run / "model.pt").exists()


def test_as_a_package_too_it_finds_its_companions(archive: Path, tmp_path: Path) -> None:
    """Each of two machines watches its replica, with the companion `launch`."""
    task = SCRIPT.with_name("task.py")
    with started(task, archive, tmp_path / "run", "--checkpoint_every", 1) as running:
        assert running.codes() == [0, 0], [log.read_text() for log in running.logs]


def test_the_folder_holds_no_link() -> None:
    assert not [path for path in SCRIPT.parent.rglob("*") if path.is_symlink()]
