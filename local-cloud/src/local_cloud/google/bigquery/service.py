"""BigQuery as a service."""

from __future__ import annotations

from local_cloud.google.bigquery.parts import Parts
from local_cloud.google.bigquery.routes import routes
from local_cloud.platform import Platform, Service


def service(platform: Platform) -> Service:
    """Return BigQuery."""
    parts = Parts(platform)
    platform.at_close.append(parts.close)
    return Service(routes=routes(parts))
