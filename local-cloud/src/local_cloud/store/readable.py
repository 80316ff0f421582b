"""Lists without what cannot be understood: one bad record must not fail all the others.

A record may be of another version of the local cloud, or of a file that somebody has changed. A
list leaves it out, and the server's log says once which one and why.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from local_cloud.errors import LocalCloudError

Item = TypeVar("Item")
Made = TypeVar("Made")

# What code raises that meets a document of another shape, or one whose job is not there.
NOT_UNDERSTOOD = (LookupError, TypeError, ValueError, AttributeError, LocalCloudError)


def each(
    kind: str, items: Iterable[tuple[str, Item]], make: Callable[[str, Item], Made]
) -> Iterator[Made]:
    """Yield make(name, item) for each pair, without those of which it cannot make sense.

    kind: the records', for the log.
    """
    for name, item in items:
        try:
            made = make(name, item)
        except NOT_UNDERSTOOD as problem:
            note(kind, name, repr(problem))
            continue
        yield made


@functools.lru_cache(maxsize=1000)  # a list is asked for again and again
def note(kind: str, name: str, why: str) -> None:
    """Write into the server's log that a record is left out of lists."""
    words = "the record of %s %s cannot be understood, and lists leave it out: %s"
    logging.getLogger(__name__).warning(words, kind, name, why)
