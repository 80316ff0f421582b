"""The real client, pointed at the local cloud by `activate()`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from local_cloud.client.control import Status

Client = Any  # boto3's classes are made when it runs


@pytest.fixture(scope="session")
def client(cloud: Status) -> Iterator[Client]:
    client = boto3.client("s3")
    yield client
    client.close()


@pytest.fixture
def s3(client: Client) -> Iterator[Client]:
    """A client; the buckets that the test makes go with it, and those of other tests stay."""
    before = _buckets(client)
    yield client
    for name in _buckets(client) - before:
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=name):
            for content in page.get("Contents", []):
                client.delete_object(Bucket=name, Key=content["Key"])
        client.delete_bucket(Bucket=name)


def _buckets(client: Client) -> set[str]:
    return {each["Name"] for each in client.list_buckets()["Buckets"]}


@pytest.fixture
def bucket(s3: Client) -> str:
    """The name of a bucket."""
    s3.create_bucket(Bucket="bucket")
    return "bucket"
