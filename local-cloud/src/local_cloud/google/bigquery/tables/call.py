"""How BigQuery takes requests, and pages of its lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from local_cloud.google import rest
from local_cloud.google.bigquery.api.errors import invalid
from local_cloud.google.bigquery.duckdb.foreign_errors import explain
from local_cloud.google.rest import Call, Item, fit
from local_cloud.http import bodies
from local_cloud.http.whole_numbers import whole
from local_cloud.json_types import Json

# Every exception is refused: after a bare 500, clients ask for ever.
API = rest.Api(
    "bigquery.v2", {Exception: lambda problem, _: explain(problem)}, largest=10 * bodies.LARGEST
)


def _same(item: Any) -> Any:
    return item


def page_of(
    items: Sequence[Item],
    call: Call,
    most: int = 1000,
    look_up: Callable[[Item], Json | None] = _same,
) -> tuple[list[Json], Json]:
    """Return a page of a list, and the token of the next; a token is how many came before.

    look_up: returns an item in full, or None if there is none any more.
    """
    wanted = call.whole("maxResults")
    size = min(most if wanted is None else wanted, most)
    token = call.query.get("pageToken") or "0"
    if (start := whole(token)) is None:
        raise invalid(f"Invalid value for pageToken: {token[:80]!r} is not a whole number")
    there = (item for each in items[start : start + size] if (item := look_up(each)))
    chosen = list(fit(there))
    after = start + len(chosen)
    return chosen, {"nextPageToken": str(after)} if chosen and after < len(items) else {}
