"""Range headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.http.download import Unsatisfiable, slice_of

SIZES = st.integers(0, 10)


@given(SIZES, st.integers(0, 12), st.none() | st.integers(0, 12))
def test_a_range_is_the_same_bytes_as_a_slice(size: int, first: int, last: int | None) -> None:
    content = bytes(range(size))
    header = f"bytes={first}-{'' if last is None else last}"
    if last is not None and last < first:
        assert slice_of(header, size) is None
    elif first >= size:
        with pytest.raises(Unsatisfiable):
            slice_of(header, size)
    else:
        start, stop = slice_of(header, size) or (0, 0)
        assert content[start:stop] == content[first : None if last is None else last + 1]


@given(SIZES, st.integers(1, 12))
def test_a_suffix_is_the_last_bytes(size: int, last: int) -> None:
    if size:
        assert slice_of(f"bytes=-{last}", size) == (max(size - last, 0), size)
    else:
        with pytest.raises(Unsatisfiable):
            slice_of(f"bytes=-{last}", size)


@given(st.text() | st.sampled_from(["bytes=-", "bytes=0-1,3-4", "lines=0-1", "bytes=a-b"]))
def test_what_makes_no_sense_is_ignored(header: str) -> None:
    assert slice_of(header, 5) is None
