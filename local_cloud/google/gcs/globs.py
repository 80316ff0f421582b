"""Names that match a glob: the parameter matchGlob of a list of objects.

cloud.google.com/storage/docs/json_api/v1/objects/list#list-objects-and-prefixes-using-glob. The
refusals, and what `**` matches inside a segment, are the service's own answers, as a public report
lists them (github.com/fsouza/fake-gcs-server, pull requests 2328 and 2344).

A pattern is a list of steps. Each step takes all places of a name that the steps before it can
reach, and returns those that it can reach from there: no pattern makes it try one way after the
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from local_cloud.google.gcs.errors import invalid

_DEEPEST = 50  # braces inside braces

Places = set[int]
Step = Callable[[str, Places], Places]


@dataclass(frozen=True)
class Glob:
    """A pattern that was read."""

    steps: list[Step]

    def matches(self, name: str) -> bool:
        """Return whether the whole name fits."""
        return len(name) in _follow(self.steps, name, {0})


def _follow(steps: Iterable[Step], name: str, places: Places) -> Places:
    for step in steps:
        if not places:
            break
        places = step(name, places)
    return places


# The steps


def _one(fits: Callable[[str], bool]) -> Step:
    """Return the step over one character that fits."""
    return lambda name, places: {at + 1 for at in places if at < len(name) and fits(name[at])}


def _letter(wanted: str) -> Step:
    return _one(lambda found: found == wanted)


def _any_in_segment(name: str, places: Places) -> Places:
    """`*`: go on as far as the next slash."""
    reached: Places = set()
    for at in sorted(places):
        while at <= len(name) and at not in reached:
            reached.add(at)
            if at < len(name) and name[at] == "/":
                break
            at += 1
    return reached


def _any(name: str, places: Places) -> Places:
    """`**`: go on to any place."""
    return set(range(min(places), len(name) + 1))


def _any_folders(name: str, places: Places) -> Places:
    """`**/` at the beginning of a segment: no folder, or any number of them."""
    first = min(places)
    return places | {at for at in range(first + 1, len(name) + 1) if name[at - 1] == "/"}


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
                return self._stars()
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
                return _one(lambda found: found != "/")
        return _letter(self._literal())

    def _literal(self) -> str:
        """Read a character; a backslash takes the meaning from the one after it."""
        if self.pattern[self.at] == "\\" and self.at + 1 < len(self.pattern):
            self.at += 1
        self.at += 1
        return self.pattern[self.at - 1]

    def _stars(self) -> Step:
        start = self.at
        while self.at < len(self.pattern) and self.pattern[self.at] == "*":
            self.at += 1
        if self.at - start == 1:
            return _any_in_segment
        begins_segment = start == 0 or self.pattern[start - 1] == "/"
        if begins_segment and self.pattern[self.at : self.at + 1] == "/":
            self.at += 1
            return _any_folders
        return _any

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

        def fits(found: str) -> bool:
            is_in = any(first <= found <= last for first, last in ranges)
            return found != "/" and is_in != is_other

        return _one(fits)

    def _range(self) -> tuple[str, str]:
        """Read a character of a class, or a range such as a-z."""
        first = self._literal()
        rest = self.pattern[self.at : self.at + 2]
        if len(rest) == 2 and rest[0] == "-" and rest[1] != "]":
            self.at += 1
            return first, self._literal()
        return first, first
