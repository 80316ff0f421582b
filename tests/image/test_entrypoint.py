"""The image's entry point, run as a process in a folder that stands for the image's and /opt/ml."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
COPIES = re.findall(
    r"^COPY (\S+) (/opt/lesson/\S+)$", (ROOT / "tools/image/Dockerfile").read_text(), re.M
)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The folder /opt/lesson, as the Dockerfile's lines fill it."""
    for source, at in COPIES:
        to = tmp_path / "image" / at.removeprefix("/opt/lesson/")
        to.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith("/"):
            shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, to)
    return tmp_path / "image"


@pytest.fixture
def ml(tmp_path: Path) -> Path:
    """The folder /opt/ml of a job with two channels, as SageMaker fills it."""
    base = tmp_path / "ml"
    random = np.random.default_rng(0)
    for name in ("train", "val"):
        folder = base / "input" / "data" / name
        folder.mkdir(parents=True)
        rows = random.normal(size=(40, 7)).astype(np.float32)
        labels = (rows[:, :1] > 0).astype(np.float32)
        np.savez(folder / f"{name}.npz", **{f"X_{name}": rows, f"y_{name}": labels})
    (base / "input" / "config").mkdir()
    (base / "model").mkdir()
    resources = {"current_host": "algo-1", "hosts": ["algo-1"], "network_interface_name": "lo"}
    (base / "input/config/resourceconfig.json").write_text(json.dumps(resources))
    return base


def run(image: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    inherited = {"PATH": os.environ["PATH"], "HOME": str(image)}
    return subprocess.run(
        [sys.executable, str(image / "entrypoint.py"), *words],
        cwd=image,
        env={**inherited, **more},
        capture_output=True,
        text=True,
        timeout=120,
    )


def sagemaker(image: Path, ml: Path, **hyperparameters: str) -> subprocess.CompletedProcess[str]:
    (ml / "input/config/hyperparameters.json").write_text(json.dumps(hyperparameters))
    return run(image, "train", SAGEMAKER_BASE_DIR=str(ml))


def flags_of(folder: Path) -> dict[str, object]:
    metrics: dict[str, object] = json.loads((folder / "metrics.json").read_text())["configuration"]
    return metrics


def test_sagemaker_starts_it_with_its_settings_and_channels(image: Path, ml: Path) -> None:
    data = ml / "input" / "data"
    done = sagemaker(
        image, ml, epochs="3", hidden='"8,4"', train=str(data / "train/train.npz"),
        val=str(data / "val/val.npz"), sagemaker_region='"us-east-1"',
        _tuning_objective_metric="validation:loss",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "validation:loss = " in done.stdout
    assert (ml / "model/model.pt").exists()
    assert "sagemaker_region" not in done.stdout and "_tuning_objective" not in done.stdout
    flags = flags_of(ml / "model")
    assert (flags["epochs"], flags["hidden"], flags["unknown"]) == (3, [8, 4], [])


def test_without_names_of_files_it_reads_its_channels(image: Path, ml: Path) -> None:
    done = sagemaker(image, ml, epochs="2")
    assert done.returncode == 0, done.stderr
    assert (ml / "model/model.pt").exists()


def test_code_that_the_tuner_sends_is_run_instead_of_the_images(
    image: Path, ml: Path, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text("import os, sys; print('mine', sys.argv[1:], os.getcwd())\n")
    with tarfile.open(tmp_path / "sourcedir.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "own.py", "own.py")
    done = sagemaker(
        image, ml, epochs="2", sagemaker_program="own.py",
        sagemaker_submit_directory=str(tmp_path / "sourcedir.tar.gz"),
    )  # fmt: skip
    assert done.stdout == f"mine ['--epochs=2'] {ml / 'code'}\n", done.stderr


def test_vertex_starts_it_with_flags(image: Path, ml: Path, tmp_path: Path) -> None:
    data, out = ml / "input" / "data", tmp_path / "out"
    done = run(
        image, f"--train={data / 'train/train.npz'}", f"--val={data / 'val/val.npz'}", "--epochs=2",
        AIP_MODEL_DIR=str(out),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (out / "model.pt").exists()


def test_the_scripts_exit_code_is_the_jobs(image: Path, ml: Path) -> None:
    done = run(image, "--train=nowhere.npz", "--val=nowhere.npz")
    assert done.returncode == 2 and "nowhere.npz" in done.stderr
