"""CBOR: values come back as they were, and bytes that are no CBOR end in one kind of error."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.amazon.protocols import cbor

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64 - 1) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES | st.text())
def test_a_value_comes_back(value: Any) -> None:
    assert cbor.loads(cbor.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),  # examples of RFC 8949, appendix A
    [
        ("1903e8", 1000),
        ("3863", -100),
        ("f93e00", 1.5),
        ("c1fb41d452d9ec200000", 1363896240.5),
        ("bf61610161629f0203ffff", {"a": 1, "b": [2, 3]}),
        ("a26161016162820203", {"a": 1, "b": [2, 3]}),
    ],
)
def test_the_standards_examples(text: str, value: Any) -> None:
    assert cbor.loads(bytes.fromhex(text)) == value
    assert cbor.dumps(cbor.Timestamp(1363896240.5)).hex() == "c1fb41d452d9ec200000"


@given(st.binary())
def test_any_bytes_are_a_value_or_a_value_error(content: bytes) -> None:
    with contextlib.suppress(ValueError):
        cbor.loads(content)


@pytest.mark.parametrize(
    "content", [b"\x81" * 10_000, b"\x9b" + b"\xff" * 8, b"\x5b" + b"\xff" * 8]
)
def test_what_nests_too_deep_or_claims_too_much_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"deep|early"):
        cbor.loads(content)
