"""The pages of models, data sets, batch predictions: a list of each kind, and a page of each."""

from __future__ import annotations

import functools

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.bounded.turns import in_turn
from local_cloud.console.records import resources
from local_cloud.console.records.dataset_statistics import table_of
from local_cloud.console.site.site import ROOT, NotHere, Site
from local_cloud.console.site.tables import Cell, Table, by_time, rows_of

TITLES = {"models": "Models", "batches": "Batch predictions", "datasets": "Datasets"}
LONGEST_FACT = 200  # characters


class ResourcePages:
    """What is behind /models, /batches, /datasets and /resource."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self.records = site.platform.records

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        lists = [Route(f"{ROOT}/{page}", self.all) for page in TITLES]
        return [*lists, Route(f"{ROOT}/resource", self.one)]

    def all(self, request: Request) -> Response:
        """Show all resources of a page's kinds, the newest first."""
        page = request.scope["path"].rpartition("/")[2]
        tables = []
        for kind in resources.KINDS:
            if kind.page == page:
                documents = resources.documents(self.records, kind)
                columns = ("Name", *(("State",) if kind.state_of else ()), "Created")
                make = functools.partial(resources.row, kind)
                rows = rows_of(kind.records, documents, make, columns=len(columns))
                ordered = by_time(rows, len(columns) - 1)
                tables.append(Table(kind.id, kind.title, columns, ordered, kind.empty))
        title = TITLES[page]
        return self.site.page(request, "listing.html", title=title, tables=tables, crumbs=())

    async def one(self, request: Request) -> Response:
        """Show one resource: its plain facts, and the whole document."""
        kind = resources.OF.get(request.query_params.get("kind", ""))
        name = request.query_params.get("name", "")
        document = self.records.get(kind.records, name) if kind else None
        if kind is None or document is None or kind.noun not in name:
            raise NotHere(f"There is no {name}. Perhaps it was deleted.")
        facts = [
            (field, Cell(str(value)[:LONGEST_FACT]))
            for field, value in document.items()
            if isinstance(value, str | int | float) and field not in ("etag", "token")
        ]
        word = str(document.get(kind.state_of, "")) if kind.state_of else ""
        return self.site.page(
            request,
            "resource.html",
            kind=kind,
            page_title=TITLES[kind.page],
            title=resources.title(kind, name, document),
            state=resources.state(word) if word else None,
            pairs=facts,
            document=document,
            statistics=await in_turn(table_of, document, self.site.platform.gs),
        )
