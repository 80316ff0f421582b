"""What Linux has and other systems lack; whoever uses it asks here, and has another way.

With LOCAL_CLOUD_PORTABLE=1 Linux does without, so that the other ways are tested there. They are:
replicas start cold where they could start warm (suitability.py), paths are rewritten where folders
could be mounted (mounts.py), and a thread waits for the end of each process (here). Processes of
other groups and sessions are found by psutil everywhere (reaper.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Protocol

LINUX = sys.platform == "linux" and os.environ.get("LOCAL_CLOUD_PORTABLE") != "1"
LOOPBACK = "lo" if sys.platform == "linux" else "lo0"  # the network interface's name


def work_through(pid: int) -> None:
    """Ask Linux to let a process, and those that it starts, work on when another one wakes up.

    Else each message between the replicas of a job interrupts one that computes: with gloo and
    small batches a step of training takes two or three times as long.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # it has ended, or the system does not allow it
            os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))


class Process(Protocol):
    """What subprocess.Popen has of a process that was started."""

    pid: int

    def wait(self) -> int:
        """Return its exit code, when it has ended; negative: the signal that ended it."""


def when_ended(process: Process, then: Callable[[int], None]) -> None:
    """Call then with the exit code (negative: the signal) on this thread's loop, once.

    Linux reports the ends in the order in which they happened, so that the first failure of
    several is known even when this process is late to hear of them. Elsewhere they are told in
    the order in which threads wake up.
    """
    loop = asyncio.get_running_loop()
    try:
        watch = os.pidfd_open(process.pid) if LINUX else None
    except OSError:  # a container that forbids it
        watch = None
    if watch is None:

        def wait() -> None:
            loop.call_soon_threadsafe(then, process.wait())

        threading.Thread(target=wait, daemon=True).start()
        return

    def ready() -> None:
        loop.remove_reader(watch)
        os.close(watch)
        then(process.wait())

    loop.add_reader(watch, ready)
