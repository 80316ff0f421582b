"""Files that are read as far as a limit."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a" * 1024)
    assert files.read(path, 1024) == b"a" * 1024
    with pytest.raises(OverLimit, match="larger than 0"):
        files.read(path, 1023)


def test_the_end_of_a_file_is_read_and_not_the_rest(tmp_path: Path) -> None:
    """Of a terabyte of holes, too."""
    path = tmp_path / "said"
    path.write_bytes(b"before")
    os.truncate(path, 1 << 40)
    with open(path, "ab+") as file:
        file.write(b"the end")
        file.flush()
        assert files.tail(file, 3) == b"end"
        assert files.tail(file, 10) == b"\0\0\0the end"


def test_a_line_has_a_limit() -> None:
    assert list(files.lines(io.BytesIO(b"one\ntwo"), 4)) == [b"one\n", b"two"]
    with pytest.raises(OverLimit, match="a line of it"):
        list(files.lines(io.BytesIO(b"one\nthree\n"), 4))


def test_a_row_has_a_limit_over_all_its_lines() -> None:
    assert list(files.rows(io.StringIO('a,"b\nc"\nd,e\n'), 8)) == [["a", "b\nc"], ["d", "e"]]
    with pytest.raises(OverLimit, match="a row of it"):
        list(files.rows(io.StringIO('"\n","\n","\n","\n"\n'), 8))


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (lambda file: file.seek(101), "unpacked, it is larger than"),
        (lambda file: [file.read(50) for _ in range(3)], "unpacked, it is larger than"),
        (lambda file: file.read(51), "a header of it is larger than"),
        (lambda file: file.read(), "a header of it is larger than"),
    ],
)
def test_what_is_unpacked_has_a_limit_and_each_read_too(step: object, said: str) -> None:
    file = files.Unpacked(io.BytesIO(bytes(1000)), most=100, at_once=50)
    assert file.seek(50) == 50 and file.read(50) == bytes(50)
    file.seek(0)
    with pytest.raises(OverLimit, match=said):
        step(file)  # type: ignore[operator]
