"""Run functions that wait for process.call() in threads, a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import anyio
from anyio import to_thread

P = ParamSpec("P")
T = TypeVar("T")
AT_ONCE = 4
_turns = anyio.CapacityLimiter(AT_ONCE)


async def in_turn(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Run a function that uses call() in a thread; the server's other threads stay free."""
    return await to_thread.run_sync(lambda: function(*arguments, **named), limiter=_turns)
