"""What a cell prints may depend on how a processor rounds; the cell itself says how much.

A comment in the cell states it, for readers and for the tests:

    # The last digits depend on the processor: within 0.02

The cell's decimal fractions may then differ from the page's by that much. All else, whole numbers
and the number of fractions among it, is compared as everywhere.
"""

from __future__ import annotations

import re

STATED = re.compile(
    r"^# The last digits depend on the processor: within (\d+(?:\.\d+)?)$", re.MULTILINE
)
# With the blanks before it: a table's column is as wide as its longest entry.
FRACTION = re.compile(r"[ ]*(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?(?![\w.]*\w)")


def tolerance(source: str) -> float:
    """The tolerance that a cell states; 0 where it states none."""
    stated = STATED.search(source)
    return float(stated[1]) if stated else 0.0


def settle(printed: str, expected: str, within: float) -> str:
    """What was printed, with the expected fraction wherever the printed one is near enough.

    The same text comes back unless both texts have equally many fractions.
    """
    wanted = FRACTION.findall(expected)
    if len(FRACTION.findall(printed)) != len(wanted):
        return printed
    rest = iter(wanted)

    def settled(match: re.Match[str]) -> str:
        other = next(rest)
        # Not a bound on arithmetic: 0.83 and 0.81 differ by 0.02 and by what binary adds to it.
        near = abs(float(match[0]) - float(other)) <= within * (1 + 1e-9)
        return other if near else match[0]

    return FRACTION.sub(settled, printed)
