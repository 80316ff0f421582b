"""Counting what was tried and how it went."""

from __future__ import annotations

from dataclasses import dataclass, field

SHOWN = 20  # problems of a part that are printed
GOAL = 1.0  # seconds in which the server answers, whatever a part does to it


@dataclass
class Tally:
    """The counts of one part."""

    part: str
    tried: int = 0
    survived: int = 0
    lost: int = 0
    let_in: int = 0
    problems: list[str] = field(default_factory=list)
    longest: float | None = None  # seconds without an answer; None where no server was asked
    done: str = ""  # what the part counts besides, such as "100 kills"
    skipped: str = ""  # why nothing of this part was tried, or something of it was not

    def survives(self, count: int = 1) -> None:
        """That many attempts went as they should."""
        self.tried += count
        self.survived += count

    def breaks(self, what: str) -> None:
        """An attempt that nothing was lost by, and that did not go as it should either."""
        self.tried += 1
        self._note(what)

    def loses(self, what: str, count: int = 1) -> None:
        """Something that had been acknowledged is gone, or is not what it was."""
        self.tried += count
        self.lost += count
        self._note(f"LOST: {what}")

    def lets_in(self, what: str) -> None:
        """Somebody got in who may not."""
        self.tried += 1
        self.let_in += 1
        self._note(f"LET IN: {what}")

    def check(self, well: bool, what: str) -> None:
        """One attempt that either went well or broke."""
        if well:
            self.survives()
        else:
            self.breaks(what)

    def silent(self, seconds: float) -> None:
        """The server gave no answer for that long."""
        self.longest = max(seconds, self.longest or 0.0)

    def _note(self, what: str) -> None:
        self.problems.append(what)
        if len(self.problems) <= SHOWN:
            print(f"  {self.part}: {what}", flush=True)
        elif len(self.problems) == SHOWN + 1:
            print(f"  {self.part}: and more", flush=True)

    @property
    def well(self) -> bool:
        """Whether everything that was tried went as it should."""
        return self.tried == self.survived and not self.problems


def table(tallies: list[Tally]) -> str:
    """All counts, a line for each part and one for the sums, and whether the goal is reached."""
    rows = [("", "tried", "survived", "lost", "let in", "no answer")]
    sums = [0, 0, 0, 0]
    for one in tallies:
        counts = [one.tried, one.survived, one.lost, one.let_in]
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        rows.append((one.part, *map(str, counts), _seconds(one.longest)))  # type: ignore[arg-type]
    known = [one.longest for one in tallies if one.longest is not None]
    longest = max(known) if known else None
    rows.append(("all", *map(str, sums), _seconds(longest)))  # type: ignore[arg-type]
    lines = [f"{name:<14}" + "".join(f"{text:>10}" for text in rest) for name, *rest in rows]
    lines += [f"{one.part}: {one.done}" for one in tallies if one.done]
    lines += [f"{one.part}: skipped: {one.skipped}" for one in tallies if one.skipped]
    return "\n".join([*lines, *_silence(tallies)])


def _seconds(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f} s"


def _silence(tallies: list[Tally]) -> list[str]:
    """The longest time without an answer, next to the goal."""
    known = {one.part: one.longest for one in tallies if one.longest is not None}
    if not known:
        return []
    part = max(known, key=lambda name: known[name])
    verdict = "reached" if known[part] < GOAL else "missed"
    return [
        f"longest time without an answer: {known[part]:.2f} s, in {part}"
        f" (goal: under {GOAL:g} s while any part runs; {verdict})"
    ]
