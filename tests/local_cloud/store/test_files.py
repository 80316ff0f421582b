"""Bytes are copied from one file to the end of another, to the last one."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_cloud.store import files


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 17, 30])
def test_so_many_bytes_and_no_more_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Around the edges of a block, and at the file's end."""
    monkeypatch.setattr(files, "BLOCK", 8)
    (tmp_path / "source").write_bytes(bytes(range(1, 21)))
    target = tmp_path / "target"
    with open(tmp_path / "source", "rb") as source, open(target, "wb+", buffering=0) as file:
        file.write(b"before")
        source.read(2)
        files.append(file, source, size)
    assert target.read_bytes() == b"before" + bytes(range(3, 21))[:size]
