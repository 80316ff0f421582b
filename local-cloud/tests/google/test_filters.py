"""The filter language of list requests."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.google.filters import InvalidFilter, bounds, compile_filter, order

JOB = {
    "displayName": "trial one",
    "state": "JOB_STATE_SUCCEEDED",
    "createTime": "2026-11-20T10:00:00.000000Z",
    "labels": {"course": "autumn", "n": "5"},
    "jobSpec": {"enableWebAccess": True},
    "versionAliases": ["default"],
    "parentContexts": ["p/1", "p/2"],
    "metadata": {"learning rate": 0.1, "epochs": 50.0, "resumed": True, "a": {"b": {"c": "deep"}}},
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        'display_name="trial one"',
        "displayName='trial one'",
        'display_name="trial*"',
        'display_name:"one"',
        "state=JOB_STATE_SUCCEEDED",
        'state="JOB_STATE_SUCCEEDED" AND labels.course=autumn',
        "state=JOB_STATE_SUCCEEDED labels.course=autumn",
        "state=JOB_STATE_FAILED OR state=JOB_STATE_SUCCEEDED",
        "NOT state=JOB_STATE_FAILED",
        "state!=JOB_STATE_FAILED",
        "(labels.course=spring OR labels.course=autumn) AND NOT labels.n=6",
        "labels.course:*",
        "labels:n",
        "labels.n:5",
        "create_time>2026-11-20T09:00:00Z",
        'create_time<="2026-11-21T00:00:00Z"',
        "job_spec.enable_web_access=true",
        "version_aliases:default",
        'parent_contexts:"p/1"',
        'parent_contexts:"p/2","p/1"',
        'metadata."learning rate".number_value = 0.10',
        'metadata."learning rate" = 0.1',
        "metadata.epochs.number_value > 9",
        "metadata.epochs != 51",
        "metadata.resumed.bool_value = true",
        'metadata."a"."b".c.string_value = "deep"',
        "metadata.a.b.c = deep",
    ],
)
def test_what_passes(text: str) -> None:
    assert compile_filter(text)(JOB)


@pytest.mark.parametrize(
    "text",
    [
        'display_name="trial"',
        "labels.course=spring",
        "labels.missing:*",
        "labels:missing",
        "create_time>2026-11-20T11:00:00Z",
        "NOT (state=JOB_STATE_SUCCEEDED)",
        "state=JOB_STATE_SUCCEEDED AND state=JOB_STATE_FAILED",
        "missing<5",
        'parent_contexts:"p/1","p/3"',
        "metadata.epochs.number_value < 9",
        "metadata.epochs.string_value = 50",
        "metadata.resumed.number_value = 1",
        'metadata."learning".number_value = 0.1',
    ],
)
def test_what_does_not_pass(text: str) -> None:
    assert not compile_filter(text)(JOB)


@pytest.mark.parametrize(
    "text",
    [
        "state=",
        "(state=X",
        "state=X)",
        "=X",
        "state X",
        '"open',
        "a=b OR",
        "(" * 5000,
        "NOT " * 5000 + "a=b",
    ],
    ids=lambda text: text[:9],
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidFilter, match="Invalid filter"):
        compile_filter(text)


def test_a_function_is_asked_about_each_resource() -> None:
    asked: list[str] = []

    def in_context(resource: dict[str, Any], name: str) -> bool:
        asked.append(name)
        return name == resource["displayName"]

    known = {"in_context": in_context}
    text = 'state=JOB_STATE_SUCCEEDED AND (in_context("other") OR in_context("trial one"))'
    assert compile_filter(text, known)(JOB)
    assert asked == ["other", "trial one"]
    assert not compile_filter('NOT in_context("trial one")', known)(JOB)
    for wrong in ("in_context", 'in_context("a"', "in_context()", 'in_context("a", "b")'):
        with pytest.raises(InvalidFilter, match="Invalid filter"):
            compile_filter(wrong, known)
    with pytest.raises(InvalidFilter, match="Invalid filter"):
        compile_filter('in_context("a")')


@given(st.floats(allow_nan=False), st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_compared_as_numbers(value: float, other: float) -> None:
    resource = {"metadata": {"x": value}}
    for sign, expected in (("<", value < other), (">=", value >= other), ("=", value == other)):
        assert compile_filter(f"metadata.x.number_value {sign} {other!r}")(resource) == expected


def test_or_binds_more_tightly_than_and() -> None:
    # state=A AND (state=B OR display_name=...) is false; (state=A AND state=B) OR ... would be true
    assert not compile_filter('state=A AND state=B OR display_name="trial one"')(JOB)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        passes = compile_filter(text)
    except InvalidFilter:
        return
    assert passes(JOB) in (True, False)


@given(st.text(string.printable, min_size=1).filter(lambda text: "*" not in text))
def test_a_quoted_string_means_itself(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    assert compile_filter(f'display_name="{quoted}"')({"displayName": text})


def test_order_by_several_fields_and_newest_first_without_any() -> None:
    jobs = [
        {"displayName": name, "createTime": f"2026-11-{day}"}
        for name, day in [("b", 10), ("a", 11), ("b", 12)]
    ]
    assert [job["createTime"][-2:] for job in order(jobs, "")] == ["12", "11", "10"]
    by_both = order(jobs, "display_name desc, create_time")
    assert [job["createTime"][-2:] for job in by_both] == ["10", "12", "11"]
    with pytest.raises(InvalidFilter, match="orderBy"):
        order(jobs, "display_name upwards")


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", {}),
        ("a=1", {"a": ("1", "1")}),
        ("a=1*", {}),
        ("a:1", {}),
        ("NOT a=1", {}),
        ("a>=1 AND a<3", {"a": ("1", "3")}),
        ("a>=1 AND a>2", {"a": ("2", "")}),
        ("a>=1 OR b>2", {}),
        ("a>=1 OR a>2", {"a": ("1", "")}),
        ("a=1 OR a=2", {"a": ("1", "2")}),
        ("a<1 OR a>2", {"a": ("", "")}),
        ('x=y AND ((t="5" AND i>"7") OR t>"6")', {"x": ("y", "y"), "t": ("5", "")}),
    ],
)
def test_what_a_filter_allows(text: str, allowed: dict[str, tuple[str, str]]) -> None:
    assert bounds(text) == allowed


def test_a_filter_is_no_longer_than_the_service_takes() -> None:
    assert compile_filter("a=b " * 5000)({"a": "b"})
    with pytest.raises(InvalidFilter, match="it is longer than 20000 characters"):
        compile_filter("a=b " * 5001)
