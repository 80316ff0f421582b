"""The running bill: what everything would have cost on the services, and what still costs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.billing.ledger import bill
from local_cloud.client.bill_rows import Bill, Leak
from local_cloud.console.records import bill_groups
from local_cloud.console.site import words
from local_cloud.console.site.site import ROOT, Site
from local_cloud.console.site.tables import Cell, Table
from local_cloud.platform import Platform

FRESH = 5.0  # seconds for which a bill is shown: it lists every object
SHOWN = 200  # jobs, studies, endpoints ..., the newest
EMPTY = "Nothing has been used that the services would have billed."


class BillPage:
    """What is behind /bill."""

    def __init__(self, site: Site) -> None:
        """site: what the pages stand on."""
        self.site = site
        self._last: tuple[float, Bill] | None = None

    def routes(self) -> list[BaseRoute]:
        """Return the page's routes."""
        return [Route(f"{ROOT}/bill", self.show)]

    async def show(self, request: Request) -> Response:
        """Answer with the page."""
        return await run_in_threadpool(self._show, request)

    def _bill(self, platform: Platform) -> Bill:
        if self._last is None or time.monotonic() - self._last[0] > FRESH:
            self._last = (time.monotonic(), bill(platform))
        return self._last[1]

    def _show(self, request: Request) -> Response:
        platform = self.site.platform
        bill = self._bill(platform)
        return self.site.page(
            request,
            "bill.html",
            dollars=bill.dollars,
            per_day=bill.dollars_per_day,
            running=len(bill.leaks),
            unpriced=len(bill.unpriced),
            leaks=_leaks(
                platform,
                "leaks",
                "Still costs money",
                leaks=bill.leaks,
                empty="Nothing costs money any more.",
            ),
            queued=_leaks(
                platform, "queued", "Will cost money when they start", leaks=bill.queued, empty=""
            ),
            parts=bill_groups.of(platform, bill.rows, SHOWN),
            sources=bill_groups.sources(bill.rows),
            title_of=lambda row: bill_groups.title(platform, row.resource, row.what),
            used=bill_groups.used,
            unit_price=bill_groups.unit_price,
            most=SHOWN,
            empty=EMPTY,
        )


def _leaks(platform: Platform, id: str, title: str, *, leaks: Sequence[Leak], empty: str) -> Table:
    rows = [
        [
            Cell(_title(platform, leak), note=f"{leak.cloud}, {leak.kind}, {leak.on}"),
            Cell(words.dollars(leak.dollars_per_day)),
            Cell(words.dollars(leak.dollars)),
            Cell(moment=leak.since),
            Cell(leak.remove, code=True),
        ]
        for leak in leaks
    ]
    columns = ("What", "$ a day", "$ so far", "Since", "How to end it")
    return Table(id, title, columns, rows, empty)


def _title(platform: Platform, leak: Leak) -> str:
    """Return its sender's name of what costs money; a bucket's is its URI."""
    if not leak.resource:
        return leak.what
    return bill_groups.title(platform, leak.resource, leak.what)
