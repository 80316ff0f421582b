"""The events of one stream, in pages, forwards and backwards, while it grows and afterwards."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from local_cloud.amazon.logs import operations
from local_cloud.engine.logs import log_timestamps
from local_cloud.engine.spec import Plan, Replica
from tests.amazon.logs.support import START, Served, ended, served

MANY = f"many/algo-1-{START}"
LONG = f"long/algo-1-{START}"
LARGE = f"large/algo-1-{START}"
EMPTY = f"empty/algo-1-{START}"
SHORT = f"short/algo-1-{START}"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Jobs that have ended: one wrote a line a second, one wrote long lines, one little."""
    folder = tmp_path_factory.mktemp("jobs")
    ended(folder, "many", algo_1=[(n, f"line {n}\n") for n in range(10)])
    ended(folder, "long", algo_1=[(1, "x" * 400_000 + "\n")] * 5)
    ended(folder, "large", algo_1=[(n, f"line {n} {'x' * 500}\n" * 200) for n in range(60)])
    ended(folder, "empty", algo_1=[(1, "first\n" + "\n" * 5000 + "last\n")])
    ended(folder, "short", algo_1=[(1, "first\n\n \r\nünïcode\n"), (2, "cut off")])
    with served(folder) as jobs_served:
        yield jobs_served


def lines(*numbers: int) -> list[str]:
    return [f"line {n}" for n in numbers]


def test_events_have_the_times_at_which_the_lines_were_written(jobs: Served) -> None:
    events = jobs.get(MANY, startFromHead=True)["events"]
    assert [event["message"] for event in events] == lines(*range(10))
    assert [event["timestamp"] for event in events] == [(START + n) * 1000 for n in range(10)]
    assert all(event["ingestionTime"] == event["timestamp"] for event in events)


def test_lines_are_events_unless_they_are_empty(jobs: Served) -> None:
    assert jobs.messages(SHORT) == ["first", " ", "ünïcode", "cut off"]


def test_forwards_in_pages(jobs: Served) -> None:
    seen, token = [], None
    while True:
        more = {"nextToken": token} if token else {}
        answer = jobs.get(MANY, startFromHead=True, limit=4, **more)
        seen.append([event["message"] for event in answer["events"]])
        if answer["nextForwardToken"] == token:  # the service's sign that the end is reached
            break
        token = answer["nextForwardToken"]
    assert seen == [lines(0, 1, 2, 3), lines(4, 5, 6, 7), lines(8, 9), []]


def test_backwards_in_pages(jobs: Served) -> None:
    """Without startFromHead the latest events come first; in a page the order is that of time."""
    seen, token = [], None
    while True:
        more = {"nextToken": token} if token else {}
        answer = jobs.get(MANY, limit=4, **more)
        seen.append([event["message"] for event in answer["events"]])
        if answer["nextBackwardToken"] == token:
            break
        token = answer["nextBackwardToken"]
    assert seen == [lines(6, 7, 8, 9), lines(2, 3, 4, 5), lines(0, 1), []]


def test_a_page_leads_both_ways(jobs: Served) -> None:
    second = jobs.get(MANY, startFromHead=True, limit=4)["nextForwardToken"]
    page = jobs.get(MANY, startFromHead=True, limit=4, nextToken=second)
    assert jobs.messages(MANY, limit=3, nextToken=page["nextBackwardToken"]) == lines(1, 2, 3)
    assert jobs.messages(MANY, startFromHead=True, nextToken=page["nextForwardToken"]) == lines(
        8, 9
    )


@pytest.mark.parametrize("from_head", [False, True])
def test_a_time_range_has_its_start_and_not_its_end(jobs: Served, from_head: bool) -> None:
    times = {"startTime": (START + 3) * 1000, "endTime": (START + 6) * 1000}
    assert jobs.messages(MANY, startFromHead=from_head, **times) == lines(3, 4, 5)
    forwards = jobs.get(MANY, startFromHead=True, limit=2, **times)
    after = forwards["nextForwardToken"]
    assert jobs.messages(MANY, startFromHead=True, nextToken=after, **times) == lines(5)
    later = {"startTime": (START + 60) * 1000}
    assert jobs.get(MANY, startFromHead=from_head, **later)["events"] == []


def test_a_page_holds_a_megabyte_and_one_event_at_least(jobs: Served) -> None:
    first = jobs.get(LONG, startFromHead=True)
    assert len(first["events"]) == 2
    assert len(jobs.get(LONG)["events"]) == 2
    paginated = 0
    token = None
    while token != first["nextForwardToken"]:
        paginated += len(first["events"])
        token = first["nextForwardToken"]
        first = jobs.get(LONG, startFromHead=True, nextToken=token)
    assert paginated == 5


def test_the_end_of_a_large_log_is_read_without_the_rest(
    jobs: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    block = log_timestamps._block

    def counted(log: Path, start: int, *, ended: bool) -> list[bytes]:
        read.append(sum(map(len, lines := block(log, start, ended=ended))))
        return lines

    monkeypatch.setattr(log_timestamps, "_block", counted)
    seen: list[str] = []
    token: dict[str, str] = {}
    while page := (answer := jobs.get(LARGE, **token))["events"]:
        if not seen:
            assert 0 < sum(read) < 3 * log_timestamps.LONGEST
        seen[:0] = [event["message"] for event in page]
        token = {"nextToken": answer["nextBackwardToken"]}
    assert [message.split()[1] for message in seen] == [str(n // 200) for n in range(12_000)]
    read.clear()
    times = {"startTime": (START + 59) * 1000, "startFromHead": True}
    assert len(jobs.messages(LARGE, **times)) == 200
    assert sum(read) < log_timestamps.LONGEST


@pytest.mark.parametrize("token", ["x", "f/1", "f/" + "9" * 56 + "/s"])
def test_a_token_that_was_never_given(jobs: Served, token: str) -> None:
    with pytest.raises(ClientError, match="The specified nextToken is invalid"):
        jobs.get(MANY, nextToken=token)


def test_a_stream_that_is_not_there(jobs: Served) -> None:
    with pytest.raises(jobs.client.exceptions.ResourceNotFoundException) as caught:
        jobs.get("many/algo-2-1")
    assert caught.value.response["Error"]["Message"] == "The specified log stream does not exist."


def test_a_stream_is_read_while_it_grows(tmp_path: Path) -> None:
    """No line is shown before it is whole; the token leads on from where one was."""
    (shared := tmp_path / "shared").mkdir()
    go = shared / "go"
    code = f"""
import pathlib, time
print("one"); print("tw", end="", flush=True)
while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)
print("o"); print("the end", end="")
"""
    began = time.time()
    with served(tmp_path / "jobs") as jobs:
        command = (sys.executable, "-uc", code)
        plan = Plan((Replica("algo-1", command, {}, mounts={str(shared): shared}),))
        jobs.submit("grows", plan)
        prefix = {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamNamePrefix": "grows/"}
        while True:
            try:
                (stream,) = jobs.client.describe_log_streams(**prefix)["logStreams"]
                break
            except jobs.client.exceptions.ResourceNotFoundException:
                continue
        name = stream["logStreamName"]
        while not (page := jobs.get(name, startFromHead=True))["events"]:
            continue
        assert [event["message"] for event in page["events"]] == ["one"]
        token = page["nextForwardToken"]
        for _ in range(2):
            empty = jobs.get(name, startFromHead=True, nextToken=token)
            assert (empty["events"], empty["nextForwardToken"]) == ([], token)
        go.touch()
        jobs.until_ended("grows")
        whole = jobs.get(name, startFromHead=True)["events"]
        assert whole[0] == page["events"][0], "an event keeps the time it was shown with"
        rest = jobs.get(name, startFromHead=True, nextToken=token)["events"]
        assert [event["message"] for event in rest] == ["two", "the end"]
        assert began * 1000 - 1 <= rest[0]["timestamp"] <= time.time() * 1000
        job, replica = name.split("/")
        assert job == "grows" and began - 1 <= int(replica.removeprefix("algo-1-")) <= time.time()


@pytest.mark.parametrize("limit", ["MOST_SEARCHED", "MOST_BYTES_SEARCHED"])
@pytest.mark.parametrize("from_head", [False, True])
def test_a_page_is_given_up_where_too_many_lines_are_empty(
    jobs: Served, from_head: bool, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the service it is empty, and its token leads on."""
    monkeypatch.setattr(operations, limit, 1000)
    seen, pages, token = [], 0, {}
    while True:
        answer = jobs.get(EMPTY, startFromHead=from_head, **token)
        next_token = answer["nextForwardToken" if from_head else "nextBackwardToken"]
        if next_token == token.get("nextToken"):
            break
        seen += [event["message"] for event in answer["events"]]
        pages, token = pages + 1, {"nextToken": next_token}
    assert sorted(seen) == ["first", "last"]
    assert pages > 5
