"""CloudWatch Logs as a service."""

from __future__ import annotations

from local_cloud.amazon.logs.operations import api
from local_cloud.amazon.protocols.dispatcher import AmazonService
from local_cloud.platform import Platform


def service(platform: Platform) -> AmazonService:
    """Return CloudWatch Logs."""
    return AmazonService(apis=[api(platform.engine, platform.serving)])
