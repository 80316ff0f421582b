"""Google Cloud: its services, one line each."""

from __future__ import annotations

from collections.abc import Callable

from local_cloud.bigquery import service as bigquery
from local_cloud.cloud_logging import service as cloud_logging
from local_cloud.gcs import service as gcs
from local_cloud.resourcemanager import service as resourcemanager
from local_cloud.service import Platform, Service
from local_cloud.vertex import service as vertex

SERVICES: tuple[Callable[[Platform], Service], ...] = (
    bigquery.service,
    cloud_logging.service,
    gcs.service,
    resourcemanager.service,
    vertex.service,
)


def service(platform: Platform) -> Service:
    """Return all of them as one cloud."""
    parts = [make(platform) for make in SERVICES]
    (dialect,) = [part.dialect for part in parts if part.dialect]
    return Service(
        routes=[route for part in parts for route in part.routes],
        first=[route for part in parts for route in part.first],
        dialect=dialect,
        errors={kind: answer for part in parts for kind, answer in part.errors.items()},
        runners=[runner for part in parts for runner in part.runners],
    )
