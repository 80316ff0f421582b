"""Lists: whatever is in the bucket, their pages together are what a sorted list would give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.amazon.s3.support import refused

PARTS = st.sampled_from(["a", "b", "/", "é", " ", "+", "\n", "&"])
KEYS = st.lists(PARTS, min_size=1, max_size=4).map("".join)
SERVER = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def fill(s3: Any, keys: set[str]) -> None:
    """Have the bucket hold these objects and no others."""
    there = {each["Key"] for each in s3.list_objects_v2(Bucket="bucket").get("Contents", [])}
    for key in keys - there:
        s3.put_object(Bucket="bucket", Key=key, Body=key.encode())
    for key in there - keys:
        s3.delete_object(Bucket="bucket", Key=key)


def expected(keys: set[str], prefix: str, delimiter: str, after: str) -> list[str]:
    """The results, common prefixes included, in the order of their UTF-8 bytes."""
    results = set()
    for key in keys:
        if key.startswith(prefix):
            rest, cut, _ = key[len(prefix) :].partition(delimiter or "\0")
            results.add(prefix + rest + cut if cut else key)
    return sorted((each for each in results if each > after), key=str.encode)


def results(page: dict[str, Any]) -> list[str]:
    names = [each["Key"] for each in page.get("Contents", [])]
    names += [each["Prefix"] for each in page.get("CommonPrefixes", [])]
    return sorted(names, key=str.encode)


@SERVER
@given(
    st.sets(KEYS, max_size=8),
    KEYS | st.just(""),
    st.sampled_from(["", "/", "a"]),
    st.integers(1, 4),
)
def test_both_versions_give_the_same_in_pages(
    s3: Any, bucket: str, keys: set[str], prefix: str, delimiter: str, size: int
) -> None:
    fill(s3, keys)
    wanted = expected(keys, prefix, delimiter, "")
    named = {"Bucket": bucket, "Prefix": prefix, "Delimiter": delimiter}
    for operation in ("list_objects", "list_objects_v2", "list_object_versions"):
        pages = s3.get_paginator(operation).paginate(**named, PaginationConfig={"PageSize": size})
        listed: list[str] = []
        for page in pages:
            if operation == "list_object_versions":
                page["Contents"] = page.get("Versions", [])
            listed += results(page)
            assert len(results(page)) <= size
            assert page["IsTruncated"] == (len(listed) < len(wanted))
            assert page.get("KeyCount", len(results(page))) == len(results(page))
        assert listed == wanted


@SERVER
@given(st.sets(KEYS, max_size=8), KEYS)
def test_a_list_can_begin_anywhere(s3: Any, bucket: str, keys: set[str], after: str) -> None:
    fill(s3, keys)
    wanted = expected(keys, "", "", after)
    assert results(s3.list_objects_v2(Bucket=bucket, StartAfter=after)) == wanted
    assert results(s3.list_objects(Bucket=bucket, Marker=after)) == wanted


def test_an_entry_says_what_the_object_is(s3: Any, bucket: str) -> None:
    made = s3.put_object(Bucket=bucket, Key="k", Body=b"abc", StorageClass="STANDARD_IA")
    (objects,) = s3.list_objects_v2(Bucket=bucket, FetchOwner=True)["Contents"]
    assert (objects["ETag"], objects["Size"]) == (made["ETag"], 3)
    assert (objects["StorageClass"], len(objects["Owner"]["ID"])) == ("STANDARD_IA", 64)
    assert "Owner" not in s3.list_objects_v2(Bucket=bucket)["Contents"][0]
    assert "Owner" in s3.list_objects(Bucket=bucket)["Contents"][0]


def test_nothing_can_be_asked_for(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    page = s3.list_objects_v2(Bucket=bucket, MaxKeys=0)
    assert (page["KeyCount"], page["IsTruncated"]) == (0, False)


@pytest.mark.parametrize(
    "wrong", [{"MaxKeys": -1}, {"ContinuationToken": "no token"}, {"ContinuationToken": ""}]
)
def test_what_makes_no_sense_is_refused(s3: Any, bucket: str, wrong: dict[str, Any]) -> None:
    with refused("InvalidArgument", 400):
        s3.list_objects_v2(Bucket=bucket, **wrong)
