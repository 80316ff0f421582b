"""Whole numbers in the texts of requests."""

from __future__ import annotations

MOST_DIGITS = 18  # of a number of 64 bits; Python refuses to read those of some thousand digits


def whole(text: str) -> int | None:
    """The number that a text's digits say, from 0; None for anything else, and if it is too long.

    Zeros at the beginning do not count.
    """
    if not text.isdecimal() or len(text.lstrip("0")) > MOST_DIGITS:
        return None
    return int(text[-MOST_DIGITS:])
