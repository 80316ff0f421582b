"""The server's log: what strangers can provoke at will must not fill the disk."""

from __future__ import annotations

import logging
import time

PERIOD = 60.0  # seconds
MOST = 5  # lines of one kind in a period


class Sparing(logging.Filter):
    """Lets a few records of a kind pass in each minute, and says how many were left out."""

    def __init__(self) -> None:
        """Make one for all loggers that share the counts."""
        super().__init__()
        self._kinds: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is written."""
        kind = (record.pathname, record.lineno)
        now = time.monotonic()
        since, count = self._kinds.get(kind, (now, 0))
        if now - since >= PERIOD:
            if count > MOST:
                record.msg = f"{record.msg} ({count - MOST} more such lines were left out)"
            since, count = now, 0
        self._kinds[kind] = since, count + 1
        return count < MOST


def spare(*names: str) -> None:
    """Have these loggers write a few lines of a kind in a minute."""
    sparing = Sparing()
    for name in names:
        logging.getLogger(name).addFilter(sparing)
