"""Stop long work on files after the current piece.

Copying, packing, walking and removing call `check` for every piece. What runs them gives them an
event; once it is set, the next piece raises Interrupted. Without an event nothing is interrupted.
The event is of the context (contextvars), so it reaches every function that is called below, and
`asyncio.to_thread` takes it along.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from local_cloud.store.errors import StoreError

_wanted: ContextVar[threading.Event | None] = ContextVar("interruption", default=None)


class Interrupted(StoreError):
    """The work was stopped before it was done."""


@contextmanager
def interruptible(event: threading.Event) -> Iterator[None]:
    """Let this event stop the work in this context."""
    token = _wanted.set(event)
    try:
        yield
    finally:
        _wanted.reset(token)


def check() -> None:
    """Raise Interrupted if the work must stop."""
    event = _wanted.get()
    if event is not None and event.is_set():
        raise Interrupted("it was stopped before all files were read")
