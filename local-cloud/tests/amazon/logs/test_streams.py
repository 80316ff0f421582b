"""Which log groups and streams there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.amazon.logs.support import GROUP, START, Served, ended, served

ARN = f"arn:aws:logs:us-east-1:000000000000:log-group:{GROUP}"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two jobs that have ended: `titanic` on two instances, `other` on one."""
    folder = tmp_path_factory.mktemp("jobs")
    ended(folder, "titanic", algo_1=[(1, "a\n"), (9, "b\n")], algo_2=[(2, "c\n")])
    ended(folder, "other", algo_1=[(5, "d\n")])
    with served(folder) as jobs_served:
        yield jobs_served


def names(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [stream["logStreamName"] for stream in answer["logStreams"]]


def test_without_a_job_there_is_no_group(tmp_path: Path) -> None:
    with served(tmp_path) as nothing:
        assert nothing.client.describe_log_groups()["logGroups"] == []
        with pytest.raises(nothing.client.exceptions.ResourceNotFoundException) as caught:
            nothing.client.describe_log_streams(logGroupName=GROUP)
    assert caught.value.response["Error"] == {
        "Code": "ResourceNotFoundException",
        "Message": "The specified log group does not exist.",
    }


def test_the_group(jobs: Served) -> None:
    (group,) = jobs.client.describe_log_groups()["logGroups"]
    assert group["logGroupName"] == GROUP and group["logGroupArn"] == ARN
    assert group["creationTime"] == START * 1000 + 500
    assert group["storedBytes"] == 8
    for count, asked in (
        (1, {"logGroupNamePrefix": "/aws/sagemaker/"}),
        (1, {"logGroupNamePattern": "Training"}),
        (0, {"logGroupNamePrefix": "/aws/lambda/"}),
        (0, {"logGroupNamePattern": "training"}),
        (0, {"logGroupClass": "INFREQUENT_ACCESS"}),
    ):
        assert len(jobs.client.describe_log_groups(**asked)["logGroups"]) == count
    with pytest.raises(ClientError, match="InvalidParameterException"):
        jobs.client.describe_log_groups(logGroupNamePrefix="a", logGroupNamePattern="b")
    with pytest.raises(ClientError, match=r"InvalidParameterException.*nextToken is invalid"):
        jobs.client.describe_log_groups(nextToken="not one of ours")
    with pytest.raises(ClientError, match=r"not implemented.*accountIdentifiers"):
        jobs.client.describe_log_groups(accountIdentifiers=["123456789012"])


def test_a_stream_for_each_instance(jobs: Served) -> None:
    answer = jobs.client.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="titanic/")
    first, second = answer["logStreams"]
    assert first == {
        "logStreamName": f"titanic/algo-1-{START}",
        "creationTime": START * 1000 + 500,
        "firstEventTimestamp": START * 1000 + 1000,
        "lastEventTimestamp": START * 1000 + 9000,
        "lastIngestionTime": START * 1000 + 9000,
        "arn": f"{ARN}:log-stream:titanic/algo-1-{START}",
        "storedBytes": 0,
    }
    assert second["logStreamName"] == f"titanic/algo-2-{START}"
    assert "nextToken" not in answer


def test_the_order_of_streams(jobs: Served) -> None:
    by_name = [
        f"other/algo-1-{START}",
        f"titanic/algo-1-{START}",
        f"titanic/algo-2-{START}",
    ]
    describe = jobs.client.describe_log_streams
    assert names(describe(logGroupName=GROUP)) == by_name
    assert names(describe(logGroupName=GROUP, descending=True)) == by_name[::-1]
    latest = describe(logGroupName=GROUP, orderBy="LastEventTime", descending=True)
    assert names(latest) == [by_name[1], by_name[0], by_name[2]]
    with pytest.raises(ClientError, match="Cannot order by LastEventTime with a logStreamName"):
        describe(logGroupName=GROUP, orderBy="LastEventTime", logStreamNamePrefix="titanic/")


@pytest.mark.parametrize("order", ["LogStreamName", "LastEventTime"])
@pytest.mark.parametrize("descending", [False, True])
def test_pages_of_streams(jobs: Served, order: str, descending: bool) -> None:
    asked = {"logGroupName": GROUP, "orderBy": order, "descending": descending}
    pages = list(jobs.client.get_paginator("describe_log_streams").paginate(**asked, limit=2))
    assert [len(page["logStreams"]) for page in pages] == [2, 1]
    whole = names(jobs.client.describe_log_streams(**asked))
    assert [name for page in pages for name in names(page)] == whole
    with pytest.raises(ClientError, match="The specified nextToken is invalid"):
        jobs.client.describe_log_streams(**asked, nextToken="titanic/algo-9")


def test_a_group_by_its_identifier(jobs: Served) -> None:
    describe = jobs.client.describe_log_streams
    for identifier in (GROUP, ARN):
        assert len(describe(logGroupIdentifier=identifier)["logStreams"]) == 3
    for wrong in ({}, {"logGroupName": GROUP, "logGroupIdentifier": GROUP}):
        with pytest.raises(ClientError, match="Give logGroupName or logGroupIdentifier"):
            describe(**wrong)
    with pytest.raises(ClientError, match="The specified log group does not exist"):
        describe(logGroupName="/aws/sagemaker/Endpoints/x")
