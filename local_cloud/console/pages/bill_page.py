"""The running bill: what everything would have cost on the services, and what still costs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.billing.ledger import bill
from local_cloud.client.bill_rows import Bill, Leak, Row
from local_cloud.console.site import words
from local_cloud.console.site.site import ROOT, Site
from local_cloud.console.site.tables import Cell, Table
from local_cloud.platform import Platform

FRESH = 5.0  # seconds for which a bill is shown: it lists every object
SHOWN = 200  # rows, the newest
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
        found = self._bill(self.site.platform)
        rows = list(reversed(found.rows))[:SHOWN]
        more = f"The newest {SHOWN} of {len(found.rows):,}." if len(found.rows) > SHOWN else ""
        columns = ("What", "Since", "Until", "Quantity", "Unit price, $", "Price, $")
        return self.site.page(
            request,
            "bill.html",
            dollars=words.dollars(found.dollars),
            per_day=words.dollars(found.dollars_per_day),
            running=len(found.leaks),
            unpriced=len(found.unpriced),
            leaks=_leaks(
                "leaks",
                "Still costs money",
                leaks=found.leaks,
                empty="Nothing costs money any more.",
            ),
            queued=_leaks(
                "queued", "Will cost money when they start", leaks=found.queued, empty=""
            ),
            table=Table("rows", "What was used", columns, list(map(_row, rows)), EMPTY, more),
        )


def _leaks(id: str, title: str, *, leaks: Sequence[Leak], empty: str) -> Table:
    rows = [
        [
            Cell(leak.what, note=f"{leak.cloud}, {leak.on}"),
            Cell(moment=leak.since),
            Cell(words.dollars(leak.dollars_per_day)),
            Cell(words.dollars(leak.dollars)),
            Cell(leak.remove, code=True),
        ]
        for leak in leaks
    ]
    columns = ("What", "Since", "$ a day", "$ so far", "How to end it")
    return Table(id, title, columns, rows, empty)


def _row(row: Row) -> list[Cell]:
    source = " ".join(filter(None, [row.sure, row.read and f"read {row.read}"]))
    return [
        Cell(row.what, note=f"{row.cloud}, {row.on}"),
        Cell(moment=row.since),
        Cell("still") if row.until is None else Cell(moment=row.until),
        Cell(f"{row.quantity:.4g} {row.unit}"),
        Cell("unknown" if row.unit_price is None else f"{row.unit_price:.6g}", note=source),
        Cell(words.dollars(row.dollars)),
    ]
