"""The taxi trainer as a process, as a shell or a container of Vertex AI starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "examples/taxifare"
# Enough for a network that is better than linear regression, and no more.
TRAINING = "--batch_size 250 --num_examples_to_train_on 60000 --num_evals 2 --lr 0.01"
NNSIZE = ["--nnsize", "64 16"]
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"


def flags(data: str, output: str) -> list[str]:
    """The flags of one training; data and output: folders or gs:// URIs."""
    named = [f"--train_data_path={data}/taxi-train*", f"--eval_data_path={data}/taxi-valid*"]
    return [*named, f"--output_dir={output}", *TRAINING.split(), *NNSIZE]


def started(
    words: list[str], python: str = sys.executable, **variables: str
) -> subprocess.Popen[str]:
    """Start the module in a clean environment."""
    plain = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.Popen(
        [python, "-m", "trainer.task", *words],
        env=plain | {"PYTHONPATH": str(PROJECT), "GLOO_SOCKET_IFNAME": "lo"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    """Wait for the end, which must be a success; return what was printed."""
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, out + err
    return out


def results(folder: Path, name: str = "metrics.json") -> dict[str, Any]:
    """Read what a training has written."""
    written: dict[str, Any] = json.loads((folder / name).read_text())
    return written
