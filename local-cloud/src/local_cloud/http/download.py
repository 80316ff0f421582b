"""Downloads in every dialect: the header Range, and a part of a file as an answer."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
_BLOCK = 1 << 18  # bytes read at once


class Unsatisfiable(ValueError):
    """The range begins behind the end."""


def slice_of(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first byte and the one behind the last of an object of `size` bytes.

    Return None for all of it.

    A header that makes no sense, or asks for several ranges, is ignored (RFC 9110, 14.2). Raises
    Unsatisfiable.
    """
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        start, stop = max(size - int(last), 0), size
    else:
        start, stop = int(first), min(int(last) + 1 if last else size, size)
        if last and int(last) < start:
            return None
    if start >= size:
        raise Unsatisfiable
    return start, stop


class Download(StreamingResponse):
    """A part of a file; the file is closed when it has been sent.

    Not Starlette's FileResponse: that opens the path when it sends, when another object may be
    there, and has errors of its own for ranges that the services refuse in their own words, or
    ignore.
    """

    def __init__(
        self, file: BinaryIO, part: tuple[int, int], *, status: int, headers: Mapping[str, str]
    ) -> None:
        """part: the first byte and the one behind the last."""
        self._file = file
        start, stop = part
        length = {"content-length": str(stop - start)}
        super().__init__(self._read(start, stop), status, {**headers, **length})

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
