"""How much memory and time a process may take.

RLIMIT_DATA counts what a process allocates, but not mapped files or libraries. RLIMIT_AS counts
these too, and would stop the imports of large libraries. macOS does not enforce a limit on memory;
the limit on time holds there too.
"""

from __future__ import annotations

import resource
import signal
from contextlib import suppress
from dataclasses import dataclass

# The exit codes of a process of process.call().
OVER_LIMIT = 3  # the function itself found something to be too large
OUT_OF_MEMORY = 4
DAMAGED = 5


@dataclass(frozen=True)
class Limits:
    """What a process may take."""

    memory: int = 512 << 20  # bytes that it allocates
    seconds: int = 10
    answer: int = 4 << 20  # bytes of what it returns, as JSON


def limit_memory(count: int) -> None:
    """Limit the memory of this process: allocating more raises MemoryError, or ends it."""
    with suppress(ValueError, OSError):  # macOS; or there is a lower limit already
        resource.setrlimit(resource.RLIMIT_DATA, (count, count))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit(limits: Limits) -> None:
    """Limit this process for good; it is ended by SIGALRM when its time is over."""
    limit_memory(limits.memory)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(limits.seconds)
