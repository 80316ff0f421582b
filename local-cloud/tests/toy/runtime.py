"""Two of Amazon's REST services that share a signing name; one takes bytes, one JSON."""

from __future__ import annotations

from local_cloud.amazon.protocols.dispatcher import AmazonService
from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.protocols.rest_protocol import RestService
from local_cloud.json_types import Json
from local_cloud.platform import Platform


async def invoke(params: Json) -> Json:
    """Return the body backwards, and what else arrived."""
    if params["EndpointName"] == "broken":
        raise ServiceError("ModelError", "the model is broken", 424)
    said = f"{params['EndpointName']} {params.get('TargetVariant')} {params['ContentType']}"
    return {
        "Body": params["Body"][::-1],
        "ContentType": "text/csv",
        "InvokedProductionVariant": "blue",
        "CustomAttributes": said,
    }


def put_metrics(params: Json) -> Json:
    wrong = [n for n, one in enumerate(params["MetricData"]) if one["Value"] < 0]
    return {"Errors": [{"Code": "VALIDATION_ERROR", "MetricIndex": n} for n in wrong]}


def service(_: Platform) -> AmazonService:
    return AmazonService(
        apis=[
            RestService("sagemaker-runtime", {"InvokeEndpoint": invoke}),
            RestService("sagemaker-metrics", {"BatchPutMetrics": put_metrics}),
        ]
    )
