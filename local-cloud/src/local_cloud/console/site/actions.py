"""What buttons ask of the services, and which page comes then; jobs have their own."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.site.requests import RequestRefused
from local_cloud.console.site.site import ROOT, NotHere, Site


@dataclass(frozen=True)
class Verb:
    """One button: a request to Google's REST API or to one of Amazon's JSON services."""

    page: str  # of the thing that it is about
    then: str  # the page after it
    google: tuple[str, str] = ("", "")  # method, and what follows the resource's name
    amazon: tuple[str, str] = ("", "")  # target, and the field that holds the name
    once: bool = False  # Amazon's service wants a token, by which it knows a request sent twice
    field: str = ""  # of Google's body: what else the form holds, under "part"


VERBS = {
    "cancel-study": Verb(
        "study",
        "study",
        ("POST", ":cancel"),
        ("SageMaker.StopHyperParameterTuningJob", "HyperParameterTuningJobName"),
    ),
    "delete-study": Verb(
        "study",
        "studies",
        ("DELETE", ""),
        ("SageMaker.DeleteHyperParameterTuningJob", "HyperParameterTuningJobName"),
    ),
    "cancel-pipeline": Verb(
        "pipeline",
        "pipeline",
        ("POST", ":cancel"),
        ("SageMaker.StopPipelineExecution", "PipelineExecutionArn"),
        once=True,
    ),
    "delete-pipeline": Verb("pipeline", "pipelines", ("DELETE", "")),
    "undeploy": Verb("endpoint", "endpoint", ("POST", ":undeployModel"), field="deployedModelId"),
    "delete-endpoint": Verb(
        "endpoint", "endpoints", ("DELETE", ""), ("SageMaker.DeleteEndpoint", "EndpointName")
    ),
}


class Actions:
    """What is behind /do."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [Route(f"{ROOT}/do/{{verb}}", self.do, methods=["POST"])]

    async def do(self, request: Request) -> Response:
        """Ask the service, and go on; to the thing's own page, with its sentence, if it refuses."""
        verb = VERBS.get(request.path_params["verb"])
        if verb is None:
            raise NotHere("There is no such button.")
        form = request.scope["form"]
        name = form.get("name", "")
        query = {"name": name}
        try:
            if name.startswith("projects/"):
                method, suffix = verb.google
                body = {verb.field: form.get("part", "")} if verb.field else {}
                body_or_none = None if method == "DELETE" else body
                await self.site.clouds.google(method, f"/v1/{name}{suffix}", body_or_none)
            elif verb.amazon[0]:
                target, field = verb.amazon
                once = {"ClientRequestToken": secrets.token_hex(16)} if verb.once else {}
                await self.site.clouds.amazon(target, {field: name, **once})
            else:
                raise RequestRefused("This button works only for resources of Vertex AI.")
        except RequestRefused as problem:
            query["refused"] = str(problem)
            return RedirectResponse(f"../{verb.page}?{urlencode(query)}", 303)
        then = f"../{verb.then}"
        return RedirectResponse(
            f"{then}?{urlencode(query)}" if verb.then == verb.page else then, 303
        )
