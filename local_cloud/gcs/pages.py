"""Pages of a list."""

from __future__ import annotations

import base64
import binascii

from local_cloud.gcs.call import Call
from local_cloud.gcs.errors import invalid

_LARGEST = 1000  # cloud.google.com/storage/docs/json_api/v1/objects/list, maxResults


def page_size(call: Call) -> int:
    """How many results to give at most."""
    requested = call.whole("maxResults")
    if requested is not None and requested < 0:
        raise invalid(f"Invalid value for maxResults: {requested}")
    return min(requested or _LARGEST, _LARGEST)


def token(last: str) -> str:
    """The token of the page that follows this result."""
    return base64.urlsafe_b64encode(last.encode()).decode()


def page_token(call: Call) -> str:
    """The result that the page follows; "" for the first page."""
    try:
        return base64.urlsafe_b64decode(call.query.get("pageToken", "")).decode()
    except (binascii.Error, ValueError):
        raise invalid("Invalid pageToken") from None
