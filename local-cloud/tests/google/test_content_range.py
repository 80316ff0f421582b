"""Content-Range headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.google.content_range import Chunk, chunk


@given(st.integers(0, 99), st.integers(1, 99), st.none() | st.integers(0, 999))
def test_a_chunk_says_where_it_goes(start: int, size: int, total: int | None) -> None:
    end = "*" if total is None else total
    assert chunk(f"bytes {start}-{start + size - 1}/{end}") == Chunk(start, total)
    assert chunk(f"bytes */{end}") == Chunk(None, total)
    assert chunk(f"bytes {start}-*/{end}") == Chunk(start, total)


@pytest.mark.parametrize(
    "header", ["", "bytes", "bytes 3-2/5", "bytes 0-1", "bytes=0-1/2", "0-1/2"]
)
def test_what_is_no_content_range(header: str) -> None:
    assert chunk(header) is None
