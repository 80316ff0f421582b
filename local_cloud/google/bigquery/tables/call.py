"""How BigQuery takes requests, and pages of its lists."""

from __future__ import annotations

from local_cloud.google import rest
from local_cloud.google.bigquery.api.errors import invalid
from local_cloud.google.bigquery.duckdb.foreign_errors import explain
from local_cloud.google.rest import Call, Json, cut_page
from local_cloud.http import bodies
from local_cloud.http.whole_numbers import whole

# Every exception is refused: after a bare 500, clients ask for ever.
API = rest.Api(
    "bigquery.v2", {Exception: lambda problem, _: explain(problem)}, largest=10 * bodies.LARGEST
)


def page_of(found: list[Json], call: Call, most: int = 1000) -> tuple[list[Json], Json]:
    """Return a page of a list, and the token of the next; a token is how many came before."""
    wanted = call.whole("maxResults")
    size = min(most if wanted is None else wanted, most)
    token = call.query.get("pageToken") or "0"
    if (start := whole(token)) is None:
        raise invalid(f"Invalid value for pageToken: {token[:80]!r} is not a whole number")
    chosen, after = cut_page(found, start, size)
    return list(chosen), {"nextPageToken": str(after)} if after else {}
