"""SageMaker as a service: its operations, one line each, and what it gives the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from local_cloud.amazon.protocols.dispatcher import AmazonService
from local_cloud.amazon.protocols.json_protocol import JsonService, Operation
from local_cloud.amazon.sagemaker import notebooks, routes
from local_cloud.amazon.sagemaker.jobs import cloudwatch
from local_cloud.amazon.sagemaker.jobs.failure_messages import FailureMessages
from local_cloud.amazon.sagemaker.jobs.training import DIALECT
from local_cloud.amazon.sagemaker.parts import Parts
from local_cloud.amazon.sagemaker.processing import jobs as processing
from local_cloud.amazon.sagemaker.resources import tags
from local_cloud.engine.dialect import Dialect
from local_cloud.platform import Platform

OPERATIONS: tuple[Callable[[Parts], Mapping[str, Operation]], ...] = (
    routes.training,
    routes.processing,
    routes.tuning,
    routes.autopilot,
    notebooks.operations,
    routes.models,
    routes.endpoints,
    routes.batch_predictions,
    routes.pipelines,
    routes.experiments,
    routes.lineage,
)


def service(platform: Platform) -> AmazonService:
    """Return SageMaker, with all that is declared in OPERATIONS."""
    parts = Parts.of(platform)
    operations = {name: call for declare in OPERATIONS for name, call in declare(parts).items()}
    operations |= tags.operations(platform.records, operations)
    api = JsonService("sagemaker", operations, in_thread=routes.IN_THREAD)
    return AmazonService(
        apis=[
            api,
            parts.predictions.api(),
            parts.tracking.metrics.api(),
            *cloudwatch.apis(platform),
        ],
        dialect=Dialect(
            DIALECT,
            parts.training,
            parts.tuning,
            parts.deployed,
            {processing.DIALECT: parts.processing},
            FailureMessages(platform.records),
        ),
        runners=[parts.executions, parts.batch_predictions],
    )
