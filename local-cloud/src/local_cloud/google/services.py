"""Google Cloud: its services, one line each."""

from __future__ import annotations

import functools
from collections.abc import Callable

from local_cloud import extras
from local_cloud.google import metadata_server, missing_services
from local_cloud.google.bigquery.api import not_installed
from local_cloud.google.gcs import service as gcs
from local_cloud.google.logging import service as cloud_logging
from local_cloud.google.projects import NotingProjects, Projects
from local_cloud.google.resourcemanager import service as resourcemanager
from local_cloud.google.vertex import service as vertex
from local_cloud.platform import Platform, Service


def bigquery(platform: Platform) -> Service:
    """Return BigQuery, or what says how to install it."""
    if why := extras.explain_missing("bigquery"):
        return not_installed.service(platform, why)
    from local_cloud.google.bigquery import service  # its libraries are an extra

    return service.service(platform)


SERVICES: tuple[Callable[[Platform], Service], ...] = (
    bigquery,
    cloud_logging.service,
    gcs.service,
    resourcemanager.service,
    vertex.service,
    missing_services.service,
    metadata_server.service,
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
        before=[functools.partial(NotingProjects, projects=Projects(platform.records))],
    )
