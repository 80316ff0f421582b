"""Requests for predictions: predict and rawPredict, passed on to a replica by the traffic split."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from google.cloud.aiplatform_v1.types.prediction_service import ExplainRequest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.engine.serving.http_client import HttpRequest, HttpResponse
from local_cloud.engine.serving.spec import NoSuchDeployment, Unanswered
from local_cloud.google.rest import HTTP, ApiError, parse_json
from local_cloud.google.vertex.endpoints import explanations, serving_launch
from local_cloud.google.vertex.endpoints.endpoints import Endpoints
from local_cloud.google.vertex.resources import rest
from local_cloud.google.vertex.resources.schema import parse_message, require
from local_cloud.http import bodies
from local_cloud.json_types import Json

LARGEST = 1_500_000  # bytes of a request or response of a shared public endpoint
JSON = "application/json"
KEYS = {"instances", "parameters"}
ANSWERED = {"predictions", "metadata"}  # of what a model answers, a client gets these
OWN = ("host", "content-length", "connection", "authorization", "transfer-encoding")


class Predictions:
    """The methods of the service's PredictionService that are here."""

    def __init__(self, endpoints: Endpoints) -> None:
        """endpoints: with what is deployed."""
        self._endpoints = endpoints

    def routes(self) -> list[BaseRoute]:
        """Return the REST routes: first in the server's list, for they are used most."""
        path = f"{rest.PARENT}/endpoints/{{id:id}}"
        return [
            Route(f"{path}:predict", self.predict, methods=["POST"]),
            Route(f"{path}:rawPredict", self.raw_predict, methods=["POST"]),
            Route(f"{path}:explain", self.explain, methods=["POST"]),
        ]

    async def predict(self, request: Request) -> Response:
        """POST :predict, with instances as JSON."""
        content = await bodies.read(request, LARGEST)
        await bodies.process(content, _instances)
        deployed_id, response = await self.send(rest.read_name(request), content)
        about = self.about(deployed_id)
        answer = await bodies.process(response.body, lambda _: _extend(response, about))
        return Response(answer, media_type=JSON)

    async def raw_predict(self, request: Request) -> Response:
        """POST :rawPredict: the body goes to the replica as it is, and so does the answer back."""
        content = await bodies.read(request, LARGEST)
        sending = [each for each in request.headers.items() if each[0] not in OWN]
        deployed_id, response = await self.send(rest.read_name(request), content, tuple(sending))
        about = self.about(deployed_id)
        headers = {
            "content-type": JSON,
            **dict(response.headers),
            "X-Vertex-AI-Deployed-Model-Id": deployed_id,
            "X-Vertex-AI-Model": about["model"],
            "X-Vertex-AI-Model-Version-Id": about["modelVersionId"],
        }
        return Response(response.body, response.status, headers)

    async def explain(self, request: Request) -> Response:
        """POST :explain: predictions, and what each feature adds to them."""
        endpoint, content = rest.read_name(request), await bodies.read(request)
        asked = await bodies.process(
            content,
            lambda read: parse_message(ExplainRequest, parse_json(read) | {"endpoint": endpoint}),
        )
        require(asked.get("instances"), "instances: a list of at least one")
        chosen = asked.get("deployedModelId") or self._choose(endpoint)
        facts = self._endpoints.facts(chosen)
        spec = facts["deployedModel"].get("explanationSpec") or facts["model"].get(
            "explanationSpec", {}
        )
        if not spec:
            raise ApiError(
                "FAILED_PRECONDITION",
                f"{facts['model']['name']} has no explanationSpec: give Model.upload"
                " explanation_metadata and explanation_parameters.",
            )
        own = asked.get("explanationSpecOverride", {}).get("parameters")
        spec = spec | ({"parameters": own} if own else {})
        parameters = {"parameters": asked["parameters"]} if "parameters" in asked else {}

        async def ask(instances: list[Any], **more: Any) -> list[Any]:
            whole = {"instances": instances, **parameters, **more}
            body = (await asyncio.to_thread(json.dumps, whole)).encode()
            _, response = await self.send(endpoint, body, deployed_id=chosen)
            return await bodies.process(
                response.body, lambda _: list(_predictions(response)["predictions"])
            )

        predictions = await ask(asked["instances"])
        if facts["model"].get("automl", {}).get("kind") == "pictures":
            paths = explanations.path_count(spec)
            maps = await ask(asked["instances"], parameters={"explain": paths})
            explained = [explanations.of_map(each) for each in maps]
        else:
            explained = [await explanations.explain(each, spec, ask) for each in asked["instances"]]
        answer = {"explanations": explained, "deployedModelId": chosen, "predictions": predictions}
        return JSONResponse(answer)

    def _choose(self, endpoint: str) -> str:
        """Return the deployed model that gets the next request."""
        try:
            return self._endpoints.serving.choose(endpoint)
        except Unanswered:
            self._endpoints.get(endpoint)
            raise ApiError(
                "FAILED_PRECONDITION",
                f"Endpoint {endpoint} doesn't have traffic_split: deploy a model, or give it one.",
            ) from None

    async def send(
        self,
        endpoint: str,
        content: bytes,
        headers: tuple[tuple[str, str], ...] = (("content-type", JSON),),
        *,
        deployed_id: str | None = None,
    ) -> tuple[str, HttpResponse]:
        """Send a body to one of the endpoint's deployed models; which it was, and its response."""
        serving = self._endpoints.serving
        chosen = deployed_id or self._choose(endpoint)
        _, route = serving_launch.routes(self._endpoints.facts(chosen))
        try:
            return await serving.send(
                endpoint, HttpRequest("POST", route, content, headers), chosen
            )
        except NoSuchDeployment as problem:
            raise ApiError("NOT_FOUND", str(problem)) from None
        except Unanswered as problem:
            raise ApiError("UNAVAILABLE", f"{endpoint}: {problem}") from None

    def about(self, deployed_id: str) -> Json:
        """Return what the service adds to predictions."""
        model = self._endpoints.facts(deployed_id)["model"]
        return {
            "deployedModelId": deployed_id,
            "model": model["name"],
            "modelDisplayName": model["displayName"],
            "modelVersionId": model["versionId"],
        }


def _instances(content: bytes) -> list[Any]:
    """Return the instances of a predict request.

    Raise INVALID_ARGUMENT for what the service would refuse.
    """
    try:
        text = content.decode(json.detect_encoding(content)) or "{}"
        payload = bodies.parse_strictly(text)
    except (ValueError, RecursionError) as problem:
        raise ApiError("INVALID_ARGUMENT", f"Invalid JSON payload received: {problem}") from None
    require(isinstance(payload, dict), "Invalid JSON payload received: not an object")
    for name in payload.keys() - KEYS:
        require(False, f'Invalid JSON payload received. Unknown name "{name}"')
    instances = payload.get("instances")
    require(isinstance(instances, list) and instances, "instances: a list of at least one")
    return list(instances)


def _extend(response: HttpResponse, about: Json) -> str:
    """Return a replica's answer with what the service adds to it.

    The predictions are not written again: they stay as the model wrote them.
    """
    payload = _predictions(response)
    if payload.keys() <= ANSWERED:
        own = _text(response).rstrip().removesuffix("}")
    else:
        own = json.dumps({name: payload[name] for name in payload if name in ANSWERED})[:-1]
    return f"{own}, {json.dumps(about)[1:]}"


def _text(response: HttpResponse) -> str:
    return response.body.decode(errors="replace")


def _canonical_code(status: int) -> str:
    """Return the code that the service gives the HTTP status of a model's server.

    400 is FAILED_PRECONDITION: github.com/googleapis/python-aiplatform/issues/514. The others are
    those of google/rpc/code.proto.
    """
    if status == 400:
        return "FAILED_PRECONDITION"
    named = {http: code for code, http in HTTP.items() if code != "ALREADY_EXISTS"}
    return named.get(status, "FAILED_PRECONDITION" if status < 500 else "INTERNAL")


def _predictions(response: HttpResponse) -> Json:
    """Return the object that a replica has answered, with predictions in it, or raise its error."""
    text = _text(response)
    if response.status != 200:
        raise ApiError(_canonical_code(response.status), text, http=response.status)
    try:
        payload = bodies.parse_strictly(text)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict) or not isinstance(payload.get("predictions"), list):
        raise ApiError(
            "INTERNAL", 'The model answered something other than {"predictions": [...]}.'
        )
    return payload
