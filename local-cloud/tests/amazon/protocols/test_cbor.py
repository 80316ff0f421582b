"""CBOR: values come back as they were, and bytes that are no CBOR end in one kind of error."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from botocore.model import DenormalizedStructureBuilder
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.amazon.protocols import cbor

MEMBERS = {
    "flag": (st.booleans(), {"type": "boolean"}),
    "count": (st.integers(-(2**64), 2**64 - 1), {"type": "long"}),
    "mean": (st.floats(allow_nan=False), {"type": "double"}),
    "name": (st.text(), {"type": "string"}),
    "moment": (st.floats(-1e11, 1e11), {"type": "timestamp"}),
}
INNER = st.fixed_dictionaries({}, optional={name: drawn for name, (drawn, _) in MEMBERS.items()})
STRUCTURE = {"type": "structure", "members": {name: kind for name, (_, kind) in MEMBERS.items()}}
SHAPE = (
    DenormalizedStructureBuilder()
    .with_members({**STRUCTURE["members"], "each": {"type": "list", "member": STRUCTURE}})
    .build_model()
)


@given(INNER, st.lists(INNER))
def test_a_value_comes_back(outer: dict[str, Any], inner: list[dict[str, Any]]) -> None:
    value = {**outer, "each": inner}
    assert cbor.loads(cbor.dumps(value, SHAPE)) == value


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
    written = cbor.dumps(1363896240.5, SHAPE.members["moment"])
    assert written.hex() == "c1fb41d452d9ec200000"


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


@pytest.mark.parametrize("content", ["a10102", "a1806161", "a1a06161"])
def test_a_members_name_is_a_text(content: str) -> None:
    with pytest.raises(ValueError, match="no text"):
        cbor.loads(bytes.fromhex(content))
