"""When each episode starts, if all are taught in a row, with breaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BREAK = 15
LONGEST_SITTING = 90  # minutes that nobody should exceed without a break


@dataclass(frozen=True)
class Slot:
    """An episode, by its place among them, or a break (None)."""

    episode: int | None
    start: int
    minutes: int


def schedule(minutes: Sequence[int]) -> list[Slot]:
    """Return the slots of episodes that take so long.

    A break comes before it would come too late.
    """
    slots: list[Slot] = []
    now = sitting = 0
    for number, length in enumerate(minutes):
        if sitting and sitting + length > LONGEST_SITTING:
            slots.append(Slot(None, now, BREAK))
            now, sitting = now + BREAK, 0
        slots.append(Slot(number, now, length))
        now, sitting = now + length, sitting + length
    return slots


def clock(minutes: int) -> str:
    """Write minutes as hours and minutes, such as 1 h 05: no time of day."""
    return f"{minutes // 60} h {minutes % 60:02}"
