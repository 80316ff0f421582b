"""The script sent alone, and sent with the folder that it lies in."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.support import SCRIPT, Replicas, cluster_specs, save, table

BESIDE = sorted(
    path.stem
    for path in SCRIPT.parent.glob("*.py")
    if path.stem not in ("__init__", "task", SCRIPT.stem)  # task.py runs the script
)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz", **table(rows=41))


def started(script: Path, archive: Path, run: Path, *more: Any, replicas: int = 2) -> Replicas:
    flags = ("--train", archive, "--val", archive, "--model_dir", run, "--epochs", 3, *more)
    environments = [{"CLUSTER_SPEC": spec} for spec in cluster_specs(replicas)]
    return Replicas(environments, run.with_name("logs"), *flags, script=script)


def test_sent_alone_the_script_trains_one_model_as_two_replicas_and_keeps_checkpoints(
    archive: Path, tmp_path: Path
) -> None:
    alone = Path(shutil.copy(SCRIPT, tmp_path / "task.py"))  # so Vertex AI's SDK names one file
    with started(alone, archive, tmp_path / "run", "--checkpoint_every", 1) as running:
        assert running.codes() == [0, 0], [log.read_text() for log in running.logs]
    assert (tmp_path / "run/model.pt").exists()


@pytest.mark.parametrize(
    ("flags", "replicas", "file"),
    [
        (("--train", "folder/"), 1, "big_tables"),
        pytest.param(("--parallelism", "model"), 2, "shared_layers", marks=pytest.mark.slow),
    ],
)
def test_sent_alone_it_says_how_to_send_the_folder(
    archive: Path, tmp_path: Path, flags: tuple[str, ...], replicas: int, file: str
) -> None:
    alone = Path(shutil.copy(SCRIPT, tmp_path / "task.py"))
    with started(alone, archive, tmp_path / "run", *flags, replicas=replicas) as running:
        assert running.codes() == [2] * replicas
        for rank in range(replicas):
            last = running.said(rank)[-1]
            assert file in last and last.endswith("; send the folder training/, not one file alone")


def test_each_file_beside_the_script_is_an_ordinary_module(tmp_path: Path) -> None:
    """Whoever imports it alone imports neither the script nor runs anything."""
    code = "".join(f"import {each}; print({SCRIPT.stem!r} in sys.modules)\n" for each in BESIDE)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}"],
        cwd=tmp_path, env={"PYTHONPATH": str(SCRIPT.parent)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("False\n" * len(BESIDE), "")


def test_the_folder_is_a_package_whose_module_task_is_the_script(
    archive: Path, tmp_path: Path
) -> None:
    """As Vertex AI's SDK packs it, under a name of its own; it finds the files beside it, too."""
    shutil.copytree(SCRIPT.parent, tmp_path / "trainer", ignore=shutil.ignore_patterns("__py*"))
    run = tmp_path / "run"
    (tmp_path / "tables").mkdir()
    shutil.copy(archive, tmp_path / "tables/a.npz")
    done = subprocess.run(
        [sys.executable, "-m", "trainer.task", "--train=tables/", f"--val={archive}",
         "--epochs=3", f"--model_dir={run}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (run / "model.pt").exists()


def test_the_folder_holds_no_link() -> None:
    assert not [path for path in SCRIPT.parent.rglob("*") if path.is_symlink()]
