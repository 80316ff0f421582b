"""Cloud Storage as a service."""

from __future__ import annotations

from local_cloud.google.gcs.routes import routes
from local_cloud.platform import Platform, Service


def service(platform: Platform) -> Service:
    """Return Cloud Storage."""
    return Service(routes=routes(platform.gs))
