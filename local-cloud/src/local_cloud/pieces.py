"""Long work on the server's loop, done in pieces: others have their turn between two of them."""

from __future__ import annotations

import asyncio
import time

PIECE = 0.02  # seconds of work after which others have their turn


class Pieces:
    """How long a piece of work has held the loop."""

    def __init__(self) -> None:
        """Begin the first piece."""
        self._begun = time.monotonic()

    async def pause(self) -> None:
        """Let others have the loop, if the piece has taken long enough; then begin the next one."""
        if time.monotonic() - self._begun > PIECE:
            await asyncio.sleep(0)
            self._begun = time.monotonic()
