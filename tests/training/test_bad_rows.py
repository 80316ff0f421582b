"""A value that cannot be trained on is named by its row in the file, whichever replica reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.torch_versions.running import save_table
from tests.training.pool import Pool, train_as

X = np.random.default_rng(0).standard_normal((41, 7))
Y = (X[:, 0] > 0).astype(int)


def refusals(pool: Pool, archive: Path, folder: Path, *more: Any) -> list[str]:
    """What each of two replicas says when it refuses its input."""
    flags = ("--train", archive, "--val", archive, "--model_dir", folder / "run", *more)
    ended = pool.run(2, train_as, flags)
    assert [each.code for each in ended] == [2, 2], ended
    return [each.err for each in ended]


@pytest.mark.parametrize("row", [3, 20, 30])
def test_the_row_is_counted_from_the_first_of_the_file(
    pool: Pool, tmp_path: Path, row: int
) -> None:
    """Of 41 rows the second replica reads those from 20 on."""
    bad = X.copy()
    bad[row, 2] = np.nan
    archive = save_table(tmp_path / "data.npz", X_train=bad)
    for said in refusals(pool, archive, tmp_path):
        (line,) = said.splitlines()
        assert f"--train {archive}: X_train has 1 missing or infinite values" in line
        assert f"first in row {row}, column 2" in line


def test_of_several_archives_it_is_counted_from_the_first_of_its_own(
    pool: Pool, tmp_path: Path
) -> None:
    """Rows 17 to 40 are in the second archive; the second replica's share begins inside it."""
    bad = X.copy()
    bad[25, 4] = np.inf
    (tmp_path / "table").mkdir()
    for name, rows in (("a", slice(0, 17)), ("b", slice(17, None))):
        np.savez(tmp_path / "table" / f"{name}.npz", X_train=bad[rows], y_train=Y[rows])
    archive = save_table(tmp_path / "data.npz")
    flags = ("--train", tmp_path / "table", "--val", archive, "--model_dir", tmp_path / "run")
    first, second = pool.run(2, train_as, flags)
    assert (first.code, second.code) == (1, 2)  # the first one loses the other
    (line,) = second.err.splitlines()
    where = f"--train {tmp_path}/table: {tmp_path}/table/b.npz"
    assert f"{where}: X_train has 1 missing or infinite" in line
    assert "first in row 8, column 4" in line
