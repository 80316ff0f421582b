"""The headers Range (of downloads) and Content-Range (of resumable uploads)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
_CONTENT_RANGE = re.compile(r"bytes (?:\*|([0-9]{1,18})-([0-9]{1,18}|\*))/(\*|[0-9]{1,18})")


class Unsatisfiable(ValueError):
    """The range begins behind the end."""


def slice_of(header: str | None, size: int) -> tuple[int, int] | None:
    """First byte and the one behind the last, of an object of `size` bytes; None: all of it.

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


@dataclass(frozen=True)
class Chunk:
    """What a Content-Range says of a chunk: its place, and how large the whole will be.

    start: None asks for the state. total: None is not known yet.
    """

    start: int | None
    total: int | None


def chunk(header: str) -> Chunk | None:
    """None for what is no Content-Range."""
    match = _CONTENT_RANGE.fullmatch(header.strip())
    if match is None:
        return None
    first, last, total = match.groups()
    if first and last != "*" and int(last) < int(first):
        return None
    return Chunk(
        start=int(first) if first else None,
        total=int(total) if total != "*" else None,
    )
