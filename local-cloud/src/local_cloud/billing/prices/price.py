"""What a price and a rule of rounding are."""

from __future__ import annotations

import math
from typing import NamedTuple

# Seconds of the month by which storage is priced: 730 hours, a twelfth of a year. The services take
# the days of the calendar's month, which changes a price by up to 8 percent.
MONTH = 730 * 3600


class ListPrice(NamedTuple):
    """A list price in US dollars, with where and when it was read."""

    usd: float
    source: str  # the URL of the page
    read: str  # the day it was read, YYYY-MM-DD or YYYY-MM; empty where the source has no date
    sure: str  # how sure the number is, in a few words


class Rounding(NamedTuple):
    """The step in which a service bills, with where and when that was read."""

    service: str
    step: int  # seconds, or bytes
    source: str
    read: str
    sure: str
    minimum: int = 0  # of whatever is billed at all; in the same unit

    def round_up(self, amount: float) -> float:
        """Return the amount that is billed: a step that has begun counts in full."""
        # Rounded first, because hours that are given as a fraction are not whole seconds exactly.
        steps = math.ceil(round(amount / self.step, 6))
        return max(self.minimum, steps * self.step)
