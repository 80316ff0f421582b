"""How many replicas a deployment needs, from how many requests it has at a time."""

from __future__ import annotations

import math
from collections import deque

# Requests that one replica has at a time when it is busy. It answers more (they wait in it for
# its next forward pass); with more than these on average, another replica is started.
TARGET = 4.0
GROW = 2.0  # seconds of load after which a replica is added
SHRINK = 20.0  # seconds without it after which one goes; a cloud waits for minutes


class Autoscaler:
    """Follows a deployment's load; times are seconds of any clock."""

    def __init__(self, minimum: int, maximum: int, now: float) -> None:
        """Begin with the smallest number of replicas."""
        self.minimum, self.maximum = minimum, maximum
        self._active = 0  # requests that are being answered, or wait
        self._area = 0.0  # of the active requests over time
        self._changed = now
        self._seen: deque[tuple[float, float]] = deque([(now, 0.0)])  # (time, area)

    @property
    def active(self) -> int:
        """Count the requests that are being answered, or wait."""
        return self._active

    def begin(self, now: float) -> None:
        """Count a request that has come."""
        self._add(now, 1)

    def end(self, now: float) -> None:
        """Count a request that has been answered."""
        self._add(now, -1)

    def _add(self, now: float, change: int) -> None:
        self._area += self._active * (now - self._changed)
        self._active, self._changed = self._active + change, now

    def choose_replicas(self, now: float, replicas: int, starting: bool = False) -> int:
        """Return how many replicas there should be, of which there are so many now.

        starting: not all of them are ready. None goes then, nor soon after: on a busy machine one
        may need longer to start than SHRINK.
        """
        self._add(now, 0)
        self._seen.append((now, self._area))
        while len(self._seen) > 2 and self._seen[1][0] <= now - (GROW if starting else SHRINK):
            self._seen.popleft()
        lately, long = self._mean(now, GROW), self._mean(now, SHRINK)
        needed = replicas
        if lately is not None and math.ceil(lately / TARGET) > replicas:
            needed = math.ceil(lately / TARGET)
        elif long is not None and math.ceil(long / TARGET) < replicas:
            needed = replicas - 1
            self._seen = deque([self._seen[-1]])  # the next one goes after as long a time
        return max(self.minimum, min(needed, self.maximum))

    def _mean(self, now: float, seconds: float) -> float | None:
        """Return the mean number of active requests in the last seconds; None if it is unknown."""
        earlier = [each for each in self._seen if each[0] <= now - seconds]
        if not earlier:
            return None
        time, area = earlier[-1]
        return (self._area - area) / (now - time)
