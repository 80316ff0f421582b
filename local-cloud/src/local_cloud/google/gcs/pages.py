"""Pages of a list."""

from __future__ import annotations

from local_cloud.google.gcs.call import Call
from local_cloud.google.gcs.errors import invalid
from local_cloud.google.rest import read_page_token

_LARGEST = 1000  # cloud.google.com/storage/docs/json_api/v1/objects/list, maxResults


def page_size(call: Call) -> int:
    """Return how many results to give at most."""
    requested = call.whole("maxResults")
    if requested is not None and requested < 0:
        raise invalid(f"Invalid value for maxResults: {requested}")
    return min(requested or _LARGEST, _LARGEST)


def last_before(call: Call) -> str:
    """Return the result that the page follows; "" for the first page."""
    try:
        return read_page_token(call.query.get("pageToken", ""))
    except ValueError:
        raise invalid("Invalid pageToken") from None
