"""Endpoints of SageMaker, as both houses' tests wait for them."""

from __future__ import annotations

import contextlib
import time

import boto3
from botocore.exceptions import ClientError


def gone(name: str) -> None:
    """Wait until an endpoint that was deleted is gone."""
    client = boto3.client("sagemaker")
    end = time.monotonic() + 60
    with contextlib.suppress(ClientError):
        while time.monotonic() < end:
            described = client.describe_endpoint(EndpointName=name)
            assert described["EndpointStatus"] == "Deleting"
            time.sleep(0.05)
        raise AssertionError(described)
