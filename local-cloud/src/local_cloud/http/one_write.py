"""A transport that sends a small answer's head and body together.

uvicorn writes them one after the other. Sent so, they are two packets: two calls of the system
here, and a client that is woken up twice.
"""

from __future__ import annotations

import asyncio
from typing import Any

MOST = 1 << 16  # bytes that wait; with more, a copy costs more than the second packet


class OneWrite:
    """Keeps what is written until flush(), or until the loop's next turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Write to this transport of the loop."""
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []
        self._size = 0
        self._turn: asyncio.Handle | None = None

    def write(self, data: bytes) -> None:
        """Send the data with what comes next, or at once if they are many."""
        self._parts.append(data)
        self._size += len(data)
        if self._size > MOST:
            self.flush()
        elif self._turn is None:
            self._turn = self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send what waits."""
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        if self._parts:
            data, self._parts, self._size = b"".join(self._parts), [], 0
            self._transport.write(data)

    def close(self) -> None:
        """Send what waits, then close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        """Return everything else from the transport."""
        return getattr(self._transport, name)
