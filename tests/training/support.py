"""Archives to train on, and two ways to run train_nn.py: as a process and inside the tests."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from training import train_nn

SCRIPT = Path(train_nn.__file__)


def table(rows: int = 40, features: int = 7, seed: int = 0) -> dict[str, np.ndarray]:
    """A small table whose first column decides the label, in both parts."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, features))
    y = (X[:, 0] > 0).astype(np.int64)
    half = max(1, rows // 2)
    return {"X_train": X, "y_train": y, "X_val": X[:half], "y_val": y[:half]}


def save(path: Path, **changes: Any) -> Path:
    """One npz archive with all four arrays, some of them changed; serves as --train and --val."""
    arrays = {name: array for name, array in (table() | changes).items() if array is not None}
    np.savez(path, **arrays)
    return path


class Ended(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str


def as_process(*flags: Any, **environment: str) -> Ended:
    """Run the script as a process of its own, as a user does."""
    done = subprocess.run(
        [sys.executable, SCRIPT, *map(str, flags)],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", **environment},
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def inside(*flags: Any) -> Ended:
    """Run the script's main() in this process, a hundred times faster to start."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = train_nn.main(train_nn.parse_flags(list(map(str, flags))))
        except SystemExit as leaving:  # argparse leaves by itself after a mistaken flag
            assert isinstance(leaving.code, int)
            code = leaving.code
    return Ended(code, out.getvalue(), err.getvalue())


def train(archive: Path, folder: Path, *flags: Any) -> Ended:
    """Train inside this process on one archive that serves as --train and --val."""
    return inside("--train", archive, "--val", archive, "--model_dir", folder, *flags)
