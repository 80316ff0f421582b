"""CloudWatch Logs as a service."""

from __future__ import annotations

from local_cloud.amazon.logs.operations import api
from local_cloud.platform import Platform, Service


def service(platform: Platform) -> Service:
    """Return CloudWatch Logs."""
    return Service(apis=[api(platform.engine, platform.serving)])
