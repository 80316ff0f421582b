"""Failures to rehearse: a button for each, and what waits (engine/rehearsals/failures.py)."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.client.failures import FAILURES
from local_cloud.console.site.site import ROOT, Site
from local_cloud.console.site.tables import Cell, Table
from local_cloud.engine.rehearsals.failures import Rehearsed, parse_failure
from local_cloud.engine.spec import EngineError

EMPTY = "Nothing is rehearsed. Choose a failure below."


class FailurePage:
    """What is behind /failures."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.failures = site.platform.engine.failures

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [
            Route(f"{ROOT}/failures", self.show),
            Route(f"{ROOT}/failures/rehearse", self.rehearse, methods=["POST"]),
            Route(f"{ROOT}/failures/clear", self.clear, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        """Answer with the page."""
        waiting = await run_in_threadpool(self.failures.list_waiting)
        columns = ("Failure", "Happens to", "How often")
        return self.site.page(
            request,
            "failures.html",
            failures=FAILURES,
            waiting=Table("waiting", "Rehearsed next", columns, list(map(_row, waiting)), EMPTY),
        )

    async def rehearse(self, request: Request) -> Response:
        """Have the next one meet it, or all; back to the page, with a sentence if it is refused."""
        form = request.scope["form"]
        wanted = {
            "failure": form.get("failure", ""),
            "name": form.get("name", "").strip(),
            "every": form.get("every") == "yes",
        }
        try:
            await run_in_threadpool(self.failures.add, parse_failure(wanted))
        except EngineError as problem:
            return RedirectResponse(f"../failures?{urlencode({'refused': str(problem)})}", 303)
        return RedirectResponse("../failures", 303)

    async def clear(self, request: Request) -> Response:
        """Take all of them back."""
        await run_in_threadpool(self.failures.clear)
        return RedirectResponse("../failures", 303)


def _row(one: Rehearsed) -> list[Cell]:
    meets = FAILURES[one.failure].meets
    which = f"a {meets} named {one.name}" if one.name else f"the next {meets}"
    return [Cell(one.failure), Cell(which), Cell("each time" if one.every else "once")]
