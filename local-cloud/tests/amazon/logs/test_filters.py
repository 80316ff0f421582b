"""Searching several streams: by stream, by time, by words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.amazon.logs import operations
from local_cloud.amazon.logs.patterns import compile_pattern
from local_cloud.amazon.protocols.errors import ServiceError
from tests.amazon.logs.support import START, Served, ended, served

ONE, TWO = f"titanic/algo-1-{START}", f"titanic/algo-2-{START}"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A job on two instances, whose lines were written in turn, and another job."""
    folder = tmp_path_factory.mktemp("jobs")
    first = [(n, f"epoch {n} loss\n") for n in (0, 2, 4)]
    second = [(n, f"epoch {n} accuracy\n") for n in (1, 3, 5)]
    ended(folder, "titanic", algo_1=first, algo_2=second)
    ended(folder, "other", algo_1=[(2.5, "ERROR: a file is missing\n")])
    with served(folder) as jobs_served:
        yield jobs_served


def epochs(events: list[Mapping[str, Any]]) -> list[int]:
    return [int(event["message"].split()[1]) for event in events]


def test_events_of_all_streams_come_in_the_order_of_their_times(jobs: Served) -> None:
    events = jobs.filtered()
    stamps = [event["timestamp"] for event in events]
    assert len(events) == 7 and stamps == sorted(stamps)
    assert events[3]["message"] == "ERROR: a file is missing"
    assert len({event["eventId"] for event in events}) == 7
    assert all(len(event["eventId"]) == 56 for event in events)


def test_streams_by_name_and_by_prefix(jobs: Served) -> None:
    assert epochs(jobs.filtered(logStreamNamePrefix="titanic/")) == [0, 1, 2, 3, 4, 5]
    assert epochs(jobs.filtered(logStreamNames=[TWO])) == [1, 3, 5]
    assert jobs.filtered(logStreamNamePrefix="none/") == []
    assert {event["logStreamName"] for event in jobs.filtered(logStreamNames=[ONE])} == {ONE}
    with pytest.raises(ClientError, match="The specified log stream does not exist"):
        jobs.filtered(logStreamNames=["titanic/algo-3-1"])
    with pytest.raises(ClientError, match="and not both"):
        jobs.filtered(logStreamNames=[ONE], logStreamNamePrefix="titanic/")


def test_a_time_range_has_both_its_ends(jobs: Served) -> None:
    times = {"startTime": (START + 1) * 1000, "endTime": (START + 4) * 1000}
    assert epochs(jobs.filtered(logStreamNamePrefix="titanic/", **times)) == [1, 2, 3, 4]


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 7])
def test_pages_lose_nothing_and_repeat_nothing(jobs: Served, limit: int) -> None:
    asked = {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamNamePrefix": "titanic/"}
    pages = list(jobs.client.get_paginator("filter_log_events").paginate(**asked, limit=limit))
    assert all(len(page["events"]) <= limit for page in pages)
    assert epochs([event for page in pages for event in page["events"]]) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ClientError, match="The specified nextToken is invalid"):
        jobs.client.filter_log_events(**asked, nextToken="x")


def test_a_page_ends_where_the_last_match_does(jobs: Served) -> None:
    """The token leads on behind it, whatever did not match in between."""
    asked = {"logStreamNamePrefix": "titanic/", "filterPattern": "loss"}
    assert epochs(jobs.filtered(**asked, limit=1)) == [0, 2, 4]


def test_a_page_costs_no_more_than_it_may(jobs: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where little matches a page ends early, and may be empty, but the next leads on."""
    monkeypatch.setattr(operations, "MOST_SEARCHED", 2)
    asked = {"logGroupName": "/aws/sagemaker/TrainingJobs", "filterPattern": "ERROR"}
    pages = list(jobs.client.get_paginator("filter_log_events").paginate(**asked))
    assert [len(page["events"]) for page in pages] == [0, 1, 0, 0]
    assert [epochs(jobs.filtered(logStreamNamePrefix="titanic/"))] == [[0, 1, 2, 3, 4, 5]]
    monkeypatch.setattr(operations, "MOST_SEARCHED", 100)
    monkeypatch.setattr(operations, "MOST_BYTES_SEARCHED", 1)  # so one line a page
    pages = list(jobs.client.get_paginator("filter_log_events").paginate(**asked))
    assert len(pages) > 4 and sum(len(page["events"]) for page in pages) == 1
    assert [epochs(jobs.filtered(logStreamNamePrefix="titanic/"))] == [[0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("loss", [0, 2, 4]),
        ("Loss", []),
        ("los", [0, 2, 4]),
        ('"3 acc"', [3]),
        ("epoch loss", [0, 2, 4]),
        ("epoch -loss", [1, 3, 5]),
        ("-epoch", []),
        ('?"0 loss" ?"3 accuracy"', [0, 3]),
    ],
)
def test_words_that_a_message_must_hold(jobs: Served, pattern: str, expected: list[int]) -> None:
    events = jobs.filtered(logStreamNamePrefix="titanic/", filterPattern=pattern)
    assert epochs(events) == expected


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ('{ $.loss = "*" }', "filter patterns of JSON"),
        ("[w1, w2]", "filter patterns of columns"),
        ("%loss|accuracy%", "filter patterns of regular expressions"),
        ("?loss accuracy", "mix \\?terms with others"),
    ],
)
def test_other_kinds_of_pattern_are_refused_by_name(jobs: Served, pattern: str, says: str) -> None:
    with pytest.raises(ClientError, match=f"not implemented .*{says}"):
        jobs.filtered(filterPattern=pattern)


@pytest.mark.parametrize("pattern", ["loss=1", '"open', "a:b", '"a"b', "--a"])
def test_what_is_no_pattern(jobs: Served, pattern: str) -> None:
    with pytest.raises(ClientError, match=r"InvalidParameterException.*Invalid filter pattern"):
        jobs.filtered(filterPattern=pattern)


def test_newest_first_is_missing(jobs: Served) -> None:
    with pytest.raises(ClientError, match=r"not implemented .*startFromHead=False"):
        jobs.filtered(startFromHead=False)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_any_text_can_be_put_in_quotes(terms: list[str]) -> None:
    quoted = ['"' + term.replace("\\", "\\\\").replace('"', '\\"') + '"' for term in terms]
    message = "|".join(terms)
    assert compile_pattern(" ".join(quoted))(message)
    assert not compile_pattern(" ".join(f"-{term}" for term in quoted))(message)
    assert compile_pattern(" ".join(f"?{term}" for term in quoted))(terms[0])


@given(st.text())
def test_any_text_is_a_pattern_or_refused(pattern: str) -> None:
    try:
        assert isinstance(compile_pattern(pattern)("a message"), bool)
    except ServiceError as problem:
        assert problem.code in ("InvalidParameterException", "NotImplemented")
