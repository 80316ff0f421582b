"""Holes are found without being read, forwards and backwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from local_cloud.store import holes

TIB = 1 << 40
BLOCK = 1 << 16  # more than a file system's own blocks have


@pytest.fixture
def sparse(tmp_path: Path) -> int:
    """The descriptor of a file that holds three blocks in 3 TiB."""
    file = os.open(tmp_path / "sparse", os.O_RDWR | os.O_CREAT)
    for place in (0, TIB, 2 * TIB):
        os.pwrite(file, b"x" * BLOCK, place)
    os.ftruncate(file, 3 * TIB)
    return file


def test_what_is_between_holes(sparse: int) -> None:
    blocks = [(place, place + BLOCK) for place in (0, TIB, 2 * TIB)]
    assert list(holes.data(sparse, 0, 3 * TIB)) == blocks
    assert list(holes.data(sparse, 5, TIB + 7)) == [(5, BLOCK), (TIB, TIB + 7)]
    assert list(holes.data(sparse, BLOCK, TIB)) == []


def test_the_next_data(sparse: int) -> None:
    assert holes.next_data(sparse, 5, 3 * TIB) == 5
    assert holes.next_data(sparse, BLOCK, 3 * TIB) == TIB
    assert holes.next_data(sparse, 2 * TIB + BLOCK, 3 * TIB) == 3 * TIB


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (3 * TIB, 2 * TIB + BLOCK),
        (2 * TIB + BLOCK, 2 * TIB + BLOCK),
        (2 * TIB + 7, 2 * TIB + 7),
        (2 * TIB, TIB + BLOCK),
        (TIB, BLOCK),
        (7, 7),
        (0, 0),
    ],
)
def test_where_a_hole_begins_that_ends_here(sparse: int, end: int, expected: int) -> None:
    assert holes.data_end(sparse, end) == expected


def test_of_a_file_that_is_one_hole(tmp_path: Path) -> None:
    file = os.open(tmp_path / "hole", os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, TIB)
    assert holes.data_end(file, TIB) == 0
    assert holes.next_data(file, 0, TIB) == TIB
