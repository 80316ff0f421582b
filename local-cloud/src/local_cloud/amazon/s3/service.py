"""S3 as a service."""

from __future__ import annotations

from local_cloud.amazon.protocols.dispatcher import AmazonService
from local_cloud.amazon.s3.routes import S3
from local_cloud.platform import Platform


def service(platform: Platform) -> AmazonService:
    """Return S3."""
    return AmazonService(apis=[S3(platform.s3)])
