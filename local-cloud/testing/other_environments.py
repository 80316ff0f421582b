"""Environments that `make test-all` makes beside .venv, for clients that cannot live in it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import boto3
import pytest

ROOT = Path(__file__).parents[2]  # of the repository
SOURCE = ROOT / "local-cloud" / "src"


def tool(environment: str, name: str) -> str:
    """A program of one of these environments; the test is skipped where it was not made."""
    path = ROOT / f".venv-{environment}" / "bin" / name
    if not path.exists():
        pytest.skip(f".venv-{environment} is not here: `make test-all` makes it")
    return str(path)


def run_in(name: str, code: str, folder: Path, shell: bool = False) -> str:
    """Run code in one of these environments, in this folder; returns what it printed.

    shell: in IPython, as a notebook does.
    """
    (folder / "code.ipy").write_text(code)
    interpreter = ["-m", "IPython", "--colors=NoColor"] if shell else []
    done = subprocess.run(
        [tool(name, "python"), *interpreter, "code.ipy"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{SOURCE}", "IPYTHONDIR": str(folder / "ipython")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_sagemaker_2(code: str, folder: Path, shell: bool = False) -> str:
    """Run code under version 2 of the SageMaker SDK."""
    return run_in("sagemaker2", code, folder, shell)


def results(uri: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return metrics.json and the weights in the archive that a job of SageMaker's has left."""
    import torch

    bucket, _, key = uri.removeprefix("s3://").partition("/")
    body = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        metrics, model = (
            archive.extractfile(name).read()  # type: ignore[union-attr]
            for name in ("metrics.json", "model.pt")
        )
    return json.loads(metrics), torch.load(io.BytesIO(model), weights_only=True)["model"]
