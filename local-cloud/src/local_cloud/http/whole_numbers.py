"""Read whole numbers in the texts of requests."""

from __future__ import annotations

MOST_DIGITS = 18  # of a number of 64 bits; Python refuses to read those of some thousand digits


def whole(text: str) -> int | None:
    """Return the number from 0 that a text's digits say; None for anything else or too many digits.

    Zeros at the beginning do not count.
    """
    if not text.isdecimal() or len(text.lstrip("0")) > MOST_DIGITS:
        return None
    return int(text[-MOST_DIGITS:])
