"""Amazon Web Services: their services, one line each, behind one endpoint."""

from __future__ import annotations

from collections.abc import Callable

from local_cloud.amazon.iam import service as iam
from local_cloud.amazon.logs import service as logs
from local_cloud.amazon.protocols.dispatcher import AmazonService, Dispatcher
from local_cloud.amazon.s3 import service as s3
from local_cloud.amazon.sagemaker import service as sagemaker
from local_cloud.platform import Platform, Service

SERVICES: tuple[Callable[[Platform], AmazonService], ...] = (
    sagemaker.service,
    logs.service,
    iam.service,
    s3.service,
)


def service(platform: Platform) -> Service:
    """Return all of them as one cloud."""
    parts = [make(platform) for make in SERVICES]
    (dialect,) = [part.dialect for part in parts if part.dialect]
    dispatcher = Dispatcher([api for part in parts for api in part.apis])
    return Service(
        first=dispatcher.routes(),  # two, where Google's services have hundreds
        dialect=dialect,
        runners=[runner for part in parts for runner in part.runners],
    )
