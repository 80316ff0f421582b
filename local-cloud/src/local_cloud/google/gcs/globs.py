"""Names that match a glob: the parameter matchGlob of a list of objects.

cloud.google.com/storage/docs/json_api/v1/objects/list#list-objects-and-prefixes-using-glob. The
refusals, and what `**` matches inside a segment, are the service's own answers, as a public report
lists them (github.com/fsouza/fake-gcs-server, pull requests 2328 and 2344).

A pattern is a list of steps. Each step takes all places of a name that the steps before it can
reach, and returns those that it can reach from there: no pattern makes it try one way after the
other. A place knows how the pattern so far ends, because braces are written out before anything
else: `{a/,b}**/c` is also `a/**/c`, and `{*,a}*` also `**`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from local_cloud.google.gcs.errors import invalid

_DEEPEST = 50  # braces inside braces


class Before(Enum):
    """How the pattern so far ends."""

    SEGMENT = auto()  # not at all, or in a slash: a segment begins
    STAR_OF_SEGMENT = auto()  # in the first star of a segment, for which no character stands yet
    STARS_OF_SEGMENT = auto()  # in two of these or more
    STAR = auto()  # in any other star
    OTHER = auto()


class Place(NamedTuple):
    """How far a name fits the pattern so far."""

    at: int  # so many of its characters
    before: Before


Places = set[Place]
Step = Callable[[str, Places], Places]


@dataclass(frozen=True)
class Glob:
    """A pattern that was read."""

    steps: list[Step]

    def matches(self, name: str) -> bool:
        """Return whether the whole name fits."""
        reached = _follow(self.steps, name, {Place(0, Before.SEGMENT)})
        return any(place.at == len(name) for place in reached)


def _follow(steps: Iterable[Step], name: str, places: Places) -> Places:
    for step in steps:
        if not places:
            break
        places = step(name, places)
    return places


# The steps


def _one(fits: Callable[[str], bool]) -> Step:
    """Return the step over one character that fits."""

    def step(name: str, places: Places) -> Places:
        return {
            Place(at + 1, Before.OTHER) for at, _ in places if at < len(name) and fits(name[at])
        }

    return step


def _letter(wanted: str) -> Step:
    return _one(lambda letter: letter == wanted)


def _slash(name: str, places: Places) -> Places:
    """`/`: a segment begins. `**/` is also no folder at all."""
    begun = {Place(at + 1, Before.SEGMENT) for at, _ in places if name[at : at + 1] == "/"}
    none = {Place(at, Before.SEGMENT) for at, end in places if end is Before.STARS_OF_SEGMENT}
    return begun | none


# What another star makes of an end; `**` goes on to any place, `*` as far as the next slash.
_ONE_STAR = {Before.SEGMENT: Before.STAR_OF_SEGMENT, Before.OTHER: Before.STAR}
_TWO_STARS = {
    Before.STAR_OF_SEGMENT: Before.STARS_OF_SEGMENT,
    Before.STARS_OF_SEGMENT: Before.STARS_OF_SEGMENT,
    Before.STAR: Before.OTHER,
}


def _star(name: str, places: Places) -> Places:
    """`*`, or the next star of `**`."""
    stay = {Place(at, (_ONE_STAR | _TWO_STARS)[end]) for at, end in places}
    in_segment = _to_slash(name, {at for at, end in places if end in _ONE_STAR})
    first = min((at for at, end in places if end in _TWO_STARS), default=len(name))
    anywhere = range(first + 1, len(name) + 1)
    return (
        stay
        | {Place(at, Before.STAR) for at in in_segment}
        | {Place(at, Before.OTHER) for at in anywhere}
    )


def _to_slash(name: str, starts: set[int]) -> set[int]:
    """Return where a star can end that begins at one of these, but for there itself."""
    reached: set[int] = set()
    for at in sorted(starts):
        while at < len(name) and name[at] != "/" and at + 1 not in reached:
            at += 1
            reached.add(at)
    return reached


def _alternatives(branches: list[list[Step]]) -> Step:
    def step(name: str, places: Places) -> Places:
        return set().union(*(_follow(branch, name, places) for branch in branches))

    return step


# Reading a pattern


def read(pattern: str) -> Glob:
    """Return the glob. Raises Refusal in the service's words."""
    return Glob(_Reader(pattern).read())


@dataclass
class _Reader:
    pattern: str
    at: int = 0
    opened: list[int] = field(default_factory=list)  # where the braces are that are still open

    def read(self) -> list[Step]:
        steps = self._branch()
        if self.at < len(self.pattern):
            raise invalid(
                f"Glob pattern brace expansion closing '}}' at index {self.at} has no previous"
                " opening '{'. Use '\\}' to match a literal '}'."
            )
        return steps

    def _branch(self) -> list[Step]:
        """Read up to the end, or up to what ends an alternative."""
        steps: list[Step] = []
        while self.at < len(self.pattern):
            letter = self.pattern[self.at]
            if letter == "}" or (letter == "," and self.opened):
                break
            steps.append(self._step(letter))
        return steps

    def _step(self, letter: str) -> Step:
        match letter:
            case "*":
                self.at += 1
                return _star
            case "[":
                return self._class()
            case "{":
                return self._braces()
            case "]":
                raise invalid(
                    f"Glob pattern had closing character class ']' at index {self.at} without any"
                    " previous opening '['. Either add an opening '[' or use '\\]' to match ']'."
                )
            case "?":
                self.at += 1
                return _one(lambda letter: letter != "/")
        literal = self._literal()
        return _slash if literal == "/" else _letter(literal)

    def _literal(self) -> str:
        """Read a character; a backslash takes the meaning from the one after it."""
        if self.pattern[self.at] == "\\" and self.at + 1 < len(self.pattern):
            self.at += 1
        self.at += 1
        return self.pattern[self.at - 1]

    def _braces(self) -> Step:
        if len(self.opened) >= _DEEPEST:
            raise invalid(f"Glob pattern has more than {_DEEPEST} levels of braces.")
        self.opened.append(self.at)
        branches: list[list[Step]] = []
        while not branches or self.pattern[self.at : self.at + 1] == ",":
            self.at += 1
            branches.append(self._branch())
        if self.at == len(self.pattern):
            raise invalid(
                f"Glob pattern brace expansion opening '{{' at index {self.opened[-1]} has no"
                " closing '}'. Use '\\{' to match a literal '{'."
            )
        self.opened.pop()
        self.at += 1
        return _alternatives(branches)

    def _class(self) -> Step:
        start = self.at
        self.at += 1
        is_other = self.pattern[self.at : self.at + 1] in ("!", "^")
        self.at += is_other
        ranges: list[tuple[str, str]] = []
        while self.at < len(self.pattern) and self.pattern[self.at] != "]":
            ranges.append(self._range())
        if self.at >= len(self.pattern):
            raise invalid(
                "Glob pattern character class has no closing ']' for opening '[' at index"
                f" {start}. Either add a closing ']' or use '\\[' to match a literal '['."
            )
        if not ranges:
            raise invalid(
                f"Glob pattern character class at index {start} must have at least one character"
                " in it."
            )
        self.at += 1

        def fits(letter: str) -> bool:
            is_in = any(first <= letter <= last for first, last in ranges)
            return letter != "/" and is_in != is_other

        return _one(fits)

    def _range(self) -> tuple[str, str]:
        """Read a character of a class, or a range such as a-z."""
        first = self._literal()
        rest = self.pattern[self.at : self.at + 2]
        if len(rest) == 2 and rest[0] == "-" and rest[1] != "]":
            self.at += 1
            return first, self._literal()
        return first, first
