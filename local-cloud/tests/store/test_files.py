"""Bytes of files are copied and digested, from the first to the last one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import google_crc32c
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


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 17])
def test_a_digest_is_that_of_what_was_there_when_reading_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(files, "BLOCK", 8)
    path, content = tmp_path / "file", bytes(range(size))
    path.write_bytes(content)
    expected = files.Digests(
        hashlib.md5(content).digest(), google_crc32c.value(content).to_bytes(4, "big")
    )
    assert files.digest(path) == (expected, files.identity(path.stat()), True)

    def grow() -> None:
        path.write_bytes(content + b"of a job that writes on")

    monkeypatch.setattr(files.interruption, "check", grow)  # called before each block
    computed, _, steady = files.digest(path)
    assert (computed, steady) == (expected, size == 0)
