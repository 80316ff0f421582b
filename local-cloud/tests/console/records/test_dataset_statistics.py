"""Statistics of a dataset's files, which may be made to need gigabytes."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from local_cloud.bounded import process
from local_cloud.bounded.errors import CannotRead
from local_cloud.bounded.limits import Limits
from local_cloud.console.records import dataset_statistics
from tests import bombs

SMALL = Limits(memory=256 << 20)


FILES = {
    "line.csv.gz": bombs.csv_line(1 << 30),
    "columns.csv": b"a," * 20_000 + b"\n" + b"1," * 100,
    "member.csv.zip": bombs.npz(1000),
    "damaged.csv.gz": bombs.csv_line(1000)[:60],
    "empty.csv": b"",
}


@pytest.mark.parametrize("name", FILES)
def test_what_cannot_be_read_has_no_statistics(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CannotRead):
        process.call(dataset_statistics.describe, [str(tmp_path / name)], limits=SMALL)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


def test_a_long_value_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name\n" + "x" * 100_000 + "\n")
    statistics = dataset_statistics.describe([str(tmp_path / "a.csv")])
    assert statistics["columns"]["name"]["top"] == [{"value": "x" * 60, "count": 1}]
