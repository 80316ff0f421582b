"""Give the time for records of when something began and ended.

If somebody sets the machine's clock back in between, the end is still not before the beginning.
"""

from __future__ import annotations

import time


def now_after(*earlier: float | None) -> float:
    """Return the time in seconds since the epoch, or the latest of these if they are later."""
    return max(time.time(), *(moment for moment in earlier if moment is not None), 0.0)
