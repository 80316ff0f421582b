"""A value that cannot be trained on is named by its row in the file, whichever replica reads it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.torch_versions.running import SCRIPT, codes, flags, on_vertex, save_table, started

X = np.random.default_rng(0).standard_normal((41, 7))
Y = (X[:, 0] > 0).astype(int)


def refusals(archive: Path, folder: Path, *more: Any) -> list[list[str]]:
    """What each of two replicas says when it refuses its input."""
    words, logs = flags(archive, folder / "run", *more), folder / "logs"
    with started(sys.executable, on_vertex(), logs, str(SCRIPT), *words) as processes:
        assert codes(processes) == [2, 2]
    return [(logs / f"{rank}.log").read_text().splitlines() for rank in (0, 1)]


@pytest.mark.parametrize("row", [30, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 20))])
def test_the_row_is_counted_from_the_first_of_the_file(tmp_path: Path, row: int) -> None:
    """Of 41 rows the second replica reads those from 20 on."""
    bad = X.copy()
    bad[row, 2] = np.nan
    archive = save_table(tmp_path / "data.npz", X_train=bad)
    for said in refusals(archive, tmp_path):
        (line,) = [each for each in said if each.startswith("train_nn.py: ")]
        assert f"--train {archive}: X_train has 1 missing or infinite values" in line
        assert f"first in row {row}, column 2" in line


def test_of_several_archives_it_is_counted_from_the_first_of_its_own(tmp_path: Path) -> None:
    """Rows 17 to 40 are in the second archive; the second replica's share begins inside it."""
    bad = X.copy()
    bad[25, 4] = np.inf
    (tmp_path / "table").mkdir()
    for name, rows in (("a", slice(0, 17)), ("b", slice(17, None))):
        np.savez(tmp_path / "table" / f"{name}.npz", X_train=bad[rows], y_train=Y[rows])
    archive = save_table(tmp_path / "data.npz")
    for said in refusals(archive, tmp_path, "--train", tmp_path / "table"):
        (line,) = [each for each in said if each.startswith("train_nn.py: ")]
        assert f"--train {tmp_path}/table/b.npz: X_train has 1 missing or infinite" in line
        assert "first in row 8, column 4" in line
