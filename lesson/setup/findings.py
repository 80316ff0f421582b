"""What a check found, as one line: PASS, FIX with the next step, or SKIP with the reason.

Nothing is imported here that may be missing on a machine that is not set up yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """What one check found: `word` is PASS, FIX (and then `text` says how) or SKIP."""

    word: str
    name: str
    text: str

    def __str__(self) -> str:
        """Return it as it is printed."""
        return f"{self.word:4}  {self.name:17}  {self.text}"


class Fix(Exception):
    """A check did not pass; the message says what is wrong and what to do."""


class Skip(Exception):
    """A check does not apply, or cannot be done; the message says why."""


def line(name: str, check: Callable[[], str]) -> Line:
    """Run a check; whatever it raises becomes its line."""
    try:
        return Line("PASS", name, check())
    except Skip as reason:
        return Line("SKIP", name, str(reason))
    except Fix as problem:
        return Line("FIX", name, str(problem))
    except Exception as problem:  # noqa: BLE001 - whatever is broken here, its line tells it
        text = str(problem) or type(problem).__name__
        return Line("FIX", name, " ".join(text.split())[:300])


def report(checks: Mapping[str, Callable[[], str]], first: Collection[str] = ()) -> int:
    """Print a line for each check, in order; return how many are to be fixed.

    `first` names the checks without which the others cannot be done: after one of them did not
    pass, the others are skipped.
    """
    lines: list[Line] = []
    for name, check in checks.items():
        missing = next(
            (each.name for each in lines if each.name in first and each.word != "PASS"), ""
        )
        lines.append(
            Line("SKIP", name, f"not looked at before the line {missing} passes")
            if missing
            else line(name, check)
        )
        print(lines[-1], flush=True)
    return sum(each.word == "FIX" for each in lines)
