"""Loaded into the suite's own pytest: empties our S3 between tests, and writes down the outcomes.

moto's tests can be pointed at a server by two variables (TEST_SERVER_MODE…); its call to reset that
server is moto's own, so it is replaced by S3's calls. Nothing else of the suite is changed. Which
servers a test talks to is written down too: one that never reaches ours says nothing about it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from moto.core.models import ServerModeMockAWS
from urllib3.connectionpool import HTTPConnectionPool

CLIENT = boto3.session.Session().client("s3")
OUTCOMES: dict[str, dict[str, Any]] = {}
OURS = urlsplit(os.environ["AWS_ENDPOINT_URL"]).port
SERVERS: set[str] = set()  # that the present test has sent a request to
SEND = HTTPConnectionPool.urlopen


def urlopen(pool: HTTPConnectionPool, *args: Any, **kwargs: Any) -> Any:
    """What boto3 and requests send through: note the server, then send."""
    SERVERS.add("ours" if pool.port == OURS else f"{pool.host}:{pool.port}")
    return SEND(pool, *args, **kwargs)


HTTPConnectionPool.urlopen = urlopen


def empty(_: object = None) -> None:
    """Remove every bucket; these requests are not the test's."""
    before = set(SERVERS)
    for bucket in CLIENT.list_buckets()["Buckets"]:
        named = {"Bucket": bucket["Name"]}
        for page in CLIENT.get_paginator("list_objects_v2").paginate(**named):
            for content in page.get("Contents", []):
                CLIENT.delete_object(**named, Key=content["Key"])
        CLIENT.delete_bucket(**named)
    SERVERS.clear()
    SERVERS.update(before)


ServerModeMockAWS.reset = empty


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport]:
    """Keep the outcome of a test, and what it raised."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        OUTCOMES[item.nodeid.removeprefix("tests/test_s3/")] = {
            "outcome": report.outcome,
            "why": str(call.excinfo.value)[:1000] if call.excinfo else "",
            "servers": sorted(SERVERS),
            "is_verified": item.get_closest_marker("aws_verified") is not None,
        }
    return report


def pytest_runtest_logstart() -> None:
    """A new test."""
    SERVERS.clear()


def pytest_sessionfinish() -> None:
    """Write them down."""
    Path(os.environ["SUITE_REPORT"]).write_text(json.dumps(OUTCOMES))
