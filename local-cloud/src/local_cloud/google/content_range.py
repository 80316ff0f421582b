"""The header Content-Range of resumable uploads."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CONTENT_RANGE = re.compile(r"bytes (?:\*|([0-9]{1,18})-([0-9]{1,18}|\*))/(\*|[0-9]{1,18})")


@dataclass(frozen=True)
class Chunk:
    """What a Content-Range says of a chunk: its place, and how large the whole will be.

    start: None asks for the state. total: None is not known yet.
    """

    start: int | None
    total: int | None


def chunk(header: str) -> Chunk | None:
    """Read a Content-Range; None for what is none."""
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
