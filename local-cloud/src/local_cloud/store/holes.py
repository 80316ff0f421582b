"""Holes of sparse files, and what a file holds between them: nobody reads a terabyte of nothing.

A job makes one with a single call (`os.ftruncate(1, 1 << 40)`), and it takes no disk.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

STEP = 1 << 16  # bytes of the first step back
GRAIN = 1 << 12  # bytes between two holes, at least, on nearly every file system


def data(descriptor: int, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of what a file holds between its holes, from one byte to another."""
    stop = first
    while stop < end:
        try:
            start = os.lseek(descriptor, stop, os.SEEK_DATA)
            stop = min(end, os.lseek(descriptor, start, os.SEEK_HOLE))
        except OSError as problem:
            if problem.errno == errno.ENXIO:  # the rest is a hole
                return
            start, stop = stop, end  # a file system that does not know of holes
        if start < stop:
            yield start, stop


def next_data(descriptor: int, place: int, end: int) -> int:
    """Return the first byte from `place` on that is in no hole; `end` if there is none before."""
    return next((start for start, _ in data(descriptor, place, end)), end)


def data_end(descriptor: int, end: int) -> int:
    """Return where the hole begins that ends at byte `end`; `end` if none does.

    Found by ever longer steps back, then by bisection: no system call looks back.
    """
    low = high = end
    step = STEP
    while low > 0:
        low = max(0, end - step)
        if next_data(descriptor, low, high) < high:
            break
        high, step = low, 2 * step
    while high - low > GRAIN:
        middle = (low + high) // 2
        if next_data(descriptor, middle, high) < high:
            low = middle
        else:
            high = middle
    return max((stop for _, stop in data(descriptor, low, high)), default=low)
