"""Groups of test files.

`make test` runs what shows in a few minutes that the house works, `make rest` all others that are
not slow, and `make test GROUP=name` a group, whichever of the two its files belong to.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

REST = "rest"


@dataclass(frozen=True)
class Groups:
    """The groups of a house's test files."""

    root: Path  # the house
    whole: tuple[str, ...]  # what holds all test files, and notebooks that are tests
    # By group the beginnings of paths. A file belongs to the group that names the longest
    # beginning of its path.
    beginnings: Mapping[str, tuple[str, ...]]
    # Beginnings of the paths that `make test` leaves to `make rest`: matrices, several levels of
    # what has been shown at one, and what few changes can break.
    rest: tuple[str, ...]

    def files(self) -> list[str]:
        """Return the paths of all test files and of the notebooks that the tests run."""
        paths = [
            path
            for folder in self.whole
            for pattern in ("test_*.py", "*.ipynb")
            for path in sorted((self.root / folder).rglob(pattern))
        ]
        return [path.relative_to(self.root).as_posix() for path in paths]

    def of(self, file: str) -> list[str]:
        """Return the groups with the longest beginning of this path: one, if they are right."""
        lengths = {
            group: max((len(each) for each in beginnings if file.startswith(each)), default=0)
            for group, beginnings in self.beginnings.items()
        }
        longest = max(lengths.values())
        return [group for group, length in lengths.items() if length == longest > 0]

    def paths(self, group: str) -> list[str]:
        """Return the test files of a group; end the process if there is no such group."""
        if group not in self.beginnings:
            named = ", ".join(self.beginnings)
            sys.exit(f"there is no group of tests {group}; the groups are {named}")
        return [file for file in self.files() if self.of(file) == [group]]

    def main(self, words: list[str]) -> None:
        """Print the test files of the named group, of the rest, or else of `make test`."""
        if words and words[0] != REST:
            print(*self.paths(words[0]))
        else:
            print(*(each for each in self.files() if each.startswith(self.rest) is bool(words)))
