"""Ways to change the small lesson `clean_lesson`, so that it breaks a rule, or only seems to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tools.lint import Lesson, lint_lesson

PAGE = "episodes/01-count.md"
Change = Callable[[Path], None]


def swap(old: str, new: str, name: str = PAGE) -> Change:
    """Replace text in one of the lesson's files."""

    def change(root: Path) -> None:
        text = (root / name).read_text(encoding="utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def insert(text: str) -> Change:
    """Add text before the episode's second section."""
    return swap("## Count them\n", f"{text}\n\n## Count them\n")


def cut(start: str, end: str) -> Change:
    """Take out of the episode what is from `start` to (not including) `end`."""

    def change(root: Path) -> None:
        before, _, rest = (root / PAGE).read_text().partition(start)
        assert end in rest
        (root / PAGE).write_text(before + rest[rest.index(end) :])

    return change


def append(text: str, name: str = PAGE) -> Change:
    """Add text at the end of one of the lesson's files."""
    return lambda root: write(name, (root / name).read_bytes() + text.encode())(root)


def write(name: str, content: bytes) -> Change:
    """Write a file."""

    def change(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)

    return change


def remove(name: str) -> Change:
    """Remove a file."""
    return lambda root: (root / name).unlink()


def rename(old: str, new: str) -> Change:
    """Rename a page, in config.yaml too."""

    def change(root: Path) -> None:
        (root / old).rename((root / old).with_name(new))
        config(Path(old).name, new)(root)

    return change


def config(old: str, new: str) -> Change:
    """Replace text in config.yaml."""
    return swap(old, new, "config.yaml")


def several(*changes: Change) -> Change:
    """Make changes that only together do what is meant."""

    def change(root: Path) -> None:
        for each in changes:
            each(root)

    return change


def cases(of: dict[str, dict[str, Change]]) -> list[object]:
    """Each change with its rule, named by the rule and by what it does."""
    return [
        pytest.param(rule, change, id=f"{rule}: {what}")
        for rule, changes in of.items()
        for what, change in changes.items()
    ]


def names(root: Path) -> set[str]:
    """The rules that the lesson at `root` breaks."""
    return {finding.rule for finding in lint_lesson(Lesson(root))}
