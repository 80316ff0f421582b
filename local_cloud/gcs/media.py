"""Downloads: an object's bytes, or a range of them, with the headers that clients check."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from local_cloud.gcs.call import Call
from local_cloud.gcs.errors import Refusal
from local_cloud.gcs.ranges import Unsatisfiable, slice_of
from local_cloud.gcs.resources import media_headers
from local_cloud.store.values import Object

_BLOCK = 1 << 18  # bytes read at once


class Media(StreamingResponse):
    """The answer to a download; it closes the file."""

    def __init__(self, call: Call, found: Object, file: BinaryIO) -> None:
        """file: the object's. Raises Refusal for a range behind the end."""
        self._file = file
        headers = media_headers(found)
        try:
            part = slice_of(call.headers.get("range"), found.size)
        except Unsatisfiable:
            refusal = Refusal(416, "requestedRangeNotSatisfiable", "Request range not satisfiable")
            raise refusal from None
        start, stop = part or (0, found.size)
        if part:
            headers["content-range"] = f"bytes {start}-{stop - 1}/{found.size}"
        headers["content-length"] = str(stop - start)
        super().__init__(self._read(start, stop), 206 if part else 200, headers)

    async def _read(self, start: int, stop: int) -> AsyncIterator[bytes]:
        await run_in_threadpool(self._file.seek, start)
        while start < stop:
            block = await run_in_threadpool(self._file.read, min(_BLOCK, stop - start))
            if not block:  # a job has shortened the file: the connection breaks, as it should
                return
            yield block
            start += len(block)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with self._file:
            await super().__call__(scope, receive, send)
