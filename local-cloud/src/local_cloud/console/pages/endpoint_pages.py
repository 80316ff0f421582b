"""The pages of endpoints: what is deployed, who gets the traffic, how the replicas do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.console.records import logs, resources
from local_cloud.console.records.jobs import SAGEMAKER, VERTEX
from local_cloud.console.site import words
from local_cloud.console.site.site import ROOT, NotHere, Site
from local_cloud.console.site.tables import Cell, Table, by_time
from local_cloud.engine.serving.spec import Deployment, NoSuchDeployment, ServingState
from local_cloud.json_types import Json

EMPTY = (
    "No endpoint. Model.deploy() on Vertex AI, and create_endpoint() on SageMaker, make one. On the"
    " real services an endpoint costs money by the hour, even without requests: this page shows all"
    " of them."
)
STATES = {
    ServingState.STARTING: Cell("Starting", chip="waiting"),
    ServingState.READY: Cell("Ready", chip="good"),
    ServingState.FAILED: Cell("Failed", chip="bad"),
}


@dataclass(frozen=True)
class Endpoint:
    """An endpoint of either cloud."""

    cloud: str
    name: str  # for the service's API
    title: str
    made: float | None
    document: Json


class EndpointPages:
    """What is behind /endpoints and /endpoint."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.platform = site.platform

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [
            Route(f"{ROOT}/endpoints", self.all),
            Route(f"{ROOT}/endpoint", self.one),
            Route(f"{ROOT}/endpoint-log", self.log),
        ]

    def _every(self) -> Iterator[Endpoint]:
        records = self.platform.records
        for name, document in records.list("vertex-endpoints"):
            made = resources.seconds(document.get("createTime"))
            yield Endpoint(VERTEX, name, document.get("displayName", name), made, document)
        for name, document in records.list("endpoint"):
            yield Endpoint(SAGEMAKER, name, name, document.get("CreationTime"), document)

    def all(self, request: Request) -> Response:
        """Show all endpoints, the newest first."""
        rows = []
        for one in self._every():
            there = list(self.platform.serving.deployments(one.name))
            ready = sum(self._count_ready(each) for each in there)
            rows.append(
                [
                    Cell(one.title, link(one.name), _id(one)),
                    self._state(one, there),
                    Cell(words.cloud(one.cloud)),
                    Cell(str(len(there))),
                    Cell(str(ready)),
                    Cell(moment=one.made),
                ]
            )
        columns = ("Endpoint", "State", "Service", "Models", "Replicas ready", "Created")
        table = Table("endpoints", "", columns, by_time(rows, 5), EMPTY)
        return self.site.page(request, "listing.html", title="Endpoints", tables=[table], crumbs=())

    def _count_ready(self, deployment: Deployment) -> int:
        """Return how many replicas are ready; none of a model that was undeployed meanwhile."""
        try:
            return self.platform.serving.figures(deployment.id).replicas
        except NoSuchDeployment:
            return 0

    def _state(self, one: Endpoint, there: list[Deployment]) -> Cell:
        if one.cloud == SAGEMAKER:
            return resources.state(one.document.get("EndpointStatus", ""))
        if not there:
            return Cell("Empty", chip="off")
        if any(each.state is ServingState.STARTING for each in there):
            return Cell("Deploying", chip="waiting")
        return Cell("Serving", chip="good")

    def _find(self, name: str) -> Endpoint:
        for one in self._every():
            if one.name == name:
                return one
        raise NotHere(f"There is no endpoint {name}. Perhaps it was deleted.")

    def one(self, request: Request) -> Response:
        """Show one endpoint: its deployments, their traffic and figures, and a replica's log."""
        try:
            return self._one(request)
        except NoSuchDeployment:
            raise NotHere("A model was undeployed meanwhile: load the page again.") from None

    def _one(self, request: Request) -> Response:
        one = self._find(request.query_params.get("name", ""))
        serving = self.platform.serving
        there = list(serving.deployments(one.name))
        weights = serving.traffic(one.name)
        total = sum(weights.values()) or 1.0
        rows = []
        for each in there:
            figures = serving.figures(each.id)
            share = 100 * weights.get(each.id, 0.0) / total
            answered = f"{figures.requests:,}"
            problems = figures.refused + figures.failed
            note = f"{figures.refused} refused, {figures.failed} failed" if problems else ""
            times = f"{1000 * figures.median:.0f} ms" if figures.requests else "–"
            slow = f"99 %: {1000 * figures.p99:.0f} ms" if figures.requests else ""
            rows.append(
                [
                    Cell(self._title(one, each), note=each.message),
                    STATES[each.state],
                    Cell(f"{share:.0f} %", share=share),
                    Cell(f"{figures.replicas} of {each.minimum} to {each.maximum}"),
                    Cell(answered, note=note),
                    Cell(times, note=slow),
                    Cell(str(figures.restarts)),
                ]
            )
        columns = ("Model", "State", "Traffic", "Replicas ready", "Requests", "Time", "Restarts")
        empty = "No model is deployed here: the endpoint costs nothing, and answers nothing."
        there_logs = [(each, replica) for each in there for replica in serving.logs(each.id)]
        chosen = request.query_params.get("replica", "")
        replica = next(
            ((d, r) for d, r in there_logs if f"{d.id}/{r}" == chosen),
            there_logs[0] if there_logs else None,
        )
        start, piece = 0, {"lines": [], "next": 0}
        if replica:
            path = serving.logs(replica[0].id)[replica[1]]
            start = logs.tail(path)
            hidden = self.platform.engine.hidden
            piece = logs.piece(path, start, ended=False, hidden=hidden)
        return self.site.page(
            request,
            "endpoint.html",
            one=one,
            id=_id(one),
            state=self._state(one, there),
            there=[(each, self._title(one, each)) for each in there],
            table=Table("deployed", "Deployed models", columns, rows, empty),
            logs=[(f"{d.id}/{r}", f"{self._title(one, d)}, {r}") for d, r in there_logs],
            replica=f"{replica[0].id}/{replica[1]}" if replica else "",
            log=piece,
            log_start=start,
        )

    def _title(self, one: Endpoint, deployment: Deployment) -> str:
        if one.cloud == SAGEMAKER:
            return deployment.id.partition(".")[0]
        facts = self.platform.records.get("vertex-deployed", deployment.id) or {}
        return str(facts.get("deployedModel", {}).get("displayName") or deployment.id)

    async def log(self, request: Request) -> Response:
        """Send a piece of a replica's log as JSON."""
        query = request.query_params
        deployment, _, replica = query.get("replica", "").partition("/")
        try:
            path = self.platform.serving.logs(deployment)[replica]
        except (NoSuchDeployment, KeyError):
            raise NotHere(f"There is no replica {replica}: its model was undeployed.") from None
        hidden = self.platform.engine.hidden
        piece = await run_in_threadpool(logs.read_piece, path, query, ended=False, hidden=hidden)
        return JSONResponse(piece | {"ended": False})


def link(name: str) -> str:
    """Return the page of an endpoint, relative to the console's root."""
    return "endpoint?" + urlencode({"name": name}, quote_via=quote, safe="")


def _id(one: Endpoint) -> str:
    return words.short(one.name) if one.cloud == VERTEX else ""
