"""InvokeEndpoint: a request is passed on to a replica of a variant, which answers it."""

from __future__ import annotations

from local_cloud.amazon.account import ACCOUNT
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.protocols.rest_protocol import RestService
from local_cloud.amazon.sagemaker.endpoints.endpoints import Endpoints
from local_cloud.amazon.sagemaker.resources.names import LOGS_OF_ENDPOINTS
from local_cloud.client.environment import REGION
from local_cloud.engine.serving.http_client import HttpRequest, HttpResponse
from local_cloud.engine.serving.spec import NoSuchDeployment, Unanswered
from local_cloud.json_types import Json

LARGEST = 6291456  # bytes of a body: botocore's model of SageMaker Runtime
ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
MISSING = {
    "TargetModel": "multi-model endpoints",
    "TargetContainerHostname": "endpoints of several containers",
    "InferenceComponentName": "inference components",
    "EnableExplanations": "explanations",
    "SessionId": "stateful sessions",
}


class Predictions:
    """The operations of SageMaker Runtime that are here."""

    def __init__(self, endpoints: Endpoints) -> None:
        """endpoints: with their variants."""
        self._endpoints = endpoints

    def api(self) -> RestService:
        """Return SageMaker Runtime."""
        return RestService("sagemaker-runtime", {"InvokeEndpoint": self.invoke}, LARGEST)

    async def invoke(self, params: Json) -> Json:
        """InvokeEndpoint."""
        for field, what in MISSING.items():
            if params.get(field):
                raise not_implemented(f"{field} ({what})")
        endpoint = params["EndpointName"]
        try:
            variant, deployment_id = self._endpoints.deployment(
                endpoint, params.get("TargetVariant")
            )
            _, response = await self._endpoints.serving.send(
                endpoint, _request(params), deployment_id
            )
        except (Unanswered, NoSuchDeployment) as problem:
            raise ServiceError("ServiceUnavailable", f"{endpoint}: {problem}", 503) from None
        except ServiceError as problem:  # this API has another name for what cannot be
            raise ServiceError("ValidationError", str(problem)) from None
        if response.status != 200:
            raise model_error(endpoint, deployment_id, response)
        answer: Json = {
            "Body": response.body,
            "ContentType": response.header("content-type", "application/octet-stream"),
            "InvokedProductionVariant": variant,
        }
        if attributes := response.header(ATTRIBUTES.lower()):
            answer["CustomAttributes"] = attributes
        return answer


def _request(params: Json) -> HttpRequest:
    headers = {
        "Content-Type": params.get("ContentType"),
        "Accept": params.get("Accept"),
        ATTRIBUTES: params.get("CustomAttributes"),
    }
    told = tuple((name, value) for name, value in headers.items() if value)
    return HttpRequest("POST", "/invocations", params.get("Body") or b"", told)


def model_error(endpoint: str, deployment_id: str, response: HttpResponse) -> ServiceError:
    """Return what the service says when a container answers with another status than 200."""
    text = response.body.decode(errors="replace")
    kind = "client" if response.status < 500 else "server"
    group = f"{LOGS_OF_ENDPOINTS}/{endpoint}"
    message = (
        f'Received {kind} error ({response.status}) from primary with message "{text}". See the'
        f" log group {group} in account {ACCOUNT} for more information."
    )
    stream = f"log-stream:{deployment_id.replace('.', '/')}"
    members = {
        "OriginalStatusCode": response.status,
        "OriginalMessage": text,
        "LogStreamArn": f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{group}:{stream}",
    }
    return ServiceError("ModelError", message, 424, members=members)
