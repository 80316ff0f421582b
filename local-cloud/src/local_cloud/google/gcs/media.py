"""Downloads: an object's bytes, or a range of them, with the headers that clients check."""

from __future__ import annotations

from typing import BinaryIO

from local_cloud.google.gcs.call import Call
from local_cloud.google.gcs.errors import Refusal
from local_cloud.google.gcs.resources import media_headers
from local_cloud.http.download import Download, Unsatisfiable, slice_of
from local_cloud.store.values import Object


class Media(Download):
    """The answer to a download; it closes the file."""

    def __init__(self, call: Call, stored: Object, file: BinaryIO) -> None:
        """file: the object's. Raises Refusal for a range behind the end."""
        headers = media_headers(stored)
        try:
            part = slice_of(call.headers.get("range"), stored.size)
        except Unsatisfiable:
            refusal = Refusal(416, "requestedRangeNotSatisfiable", "Request range not satisfiable")
            raise refusal from None
        start, stop = part or (0, stored.size)
        if part:
            headers["content-range"] = f"bytes {start}-{stop - 1}/{stored.size}"
        super().__init__(file, (start, stop), status=206 if part else 200, headers=headers)
