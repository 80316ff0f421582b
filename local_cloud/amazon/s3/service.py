"""S3 as a service."""

from __future__ import annotations

from local_cloud.amazon.s3.routes import S3
from local_cloud.platform import Platform, Service


def service(platform: Platform) -> Service:
    """Return S3."""
    return Service(apis=[S3(platform.s3)])
