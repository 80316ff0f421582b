"""On PYTHONPATH, this has a server write down how long its event loop was held.

Python imports it by its name before anything else. The file that LOOP_WATCH names holds two numbers
of seconds, which whoever reads it may set to 0: the most CPU time that one callback of the loop
took, which tells a held loop from a busy machine, and the longest time that the loop did not come
round, during which other clients waited. LOOP_WATCH.txt names the callbacks that took long.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import struct
import sys
import time
from pathlib import Path
from typing import Any

SIZE = struct.calcsize("2d")
PERIOD = 0.01  # seconds between two looks at whether the loop comes round
LONG = 0.05  # CPU seconds of a callback that is named


class Watch:
    """What is written down about the loop of this process."""

    def __init__(self, path: str) -> None:
        """path: the file with the numbers, which is there."""
        with open(path, "r+b") as file:
            self.numbers = mmap.mmap(file.fileno(), SIZE)
        self.names = Path(f"{path}.txt")
        self.ticks = False

    def note(self, place: int, seconds: float) -> None:
        """Keep the greater of what was known and this."""
        numbers = list(struct.unpack("2d", self.numbers[:SIZE]))
        if seconds > numbers[place]:
            numbers[place] = seconds
            self.numbers[:SIZE] = struct.pack("2d", *numbers)

    def tick(self, due: float) -> None:
        """Look how late the loop comes round, and again after PERIOD."""
        now = time.monotonic()
        self.note(1, now - due)
        asyncio.get_running_loop().call_later(PERIOD, self.tick, now + PERIOD)


def watch(path: str) -> None:
    """Measure each callback of this process's loop."""
    watch_of_loop, run = Watch(path), asyncio.events.Handle._run

    def measured(self: Any) -> None:
        before = time.thread_time()
        run(self)
        seconds = time.thread_time() - before
        watch_of_loop.note(0, seconds)
        if seconds > LONG:
            with watch_of_loop.names.open("a") as file:
                file.write(f"{seconds:.3f} {self!r:.300}\n")
        if not watch_of_loop.ticks:
            watch_of_loop.ticks = True
            self._loop.call_soon(watch_of_loop.tick, time.monotonic())

    asyncio.events.Handle._run = measured  # type: ignore[method-assign]


if "LOOP_WATCH" in os.environ and "local_cloud.server" in sys.orig_argv:
    watch(os.environ["LOOP_WATCH"])
