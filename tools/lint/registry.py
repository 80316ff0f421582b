"""What a rule is, and the list of all rules.

A rule is a function whose docstring says the rule; registering it under an id is all it takes to
run. There is no way to switch a rule off in a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tools.pages.folder import DOCUMENTATION, Lesson, PageError
from tools.pages.links import definitions
from tools.pages.scanner import Page

STRUCTURE = frozenset({"div-balance", "div-fence", "code-closed", "comment-closed"})
# What the local cloud's documentation has to keep, too: a repository shows it, and no site is made.
IN_DOCUMENTATION = (*STRUCTURE, "link-", "table-", "word-")
ON_A_SITE = ("link-asset",)


@dataclass(frozen=True, order=True)
class Finding:
    """One error: where, what and the fix, and the rule's id."""

    path: str
    line: int
    message: str
    rule: str

    def __str__(self) -> str:
        """Return the error as it is printed."""
        return f"{self.path}:{self.line}: {self.message} [{self.rule}]"


@dataclass(frozen=True)
class Doc:
    """A page with its lesson around it."""

    lesson: Lesson
    path: Path
    page: Page

    @property
    def is_episode(self) -> bool:
        """Return whether the page is part of the taught sequence."""
        return self.path.parent == self.lesson.root / "episodes"

    @property
    def is_documentation(self) -> bool:
        """Return whether the page is one of the local cloud's, not of the lesson."""
        return self.path.is_relative_to(self.lesson.root / DOCUMENTATION)

    @cached_property
    def known_links(self) -> dict[str, str]:
        """Return the reference definitions that hold in the page."""
        shared = {} if self.is_documentation else self.lesson.shared_links
        return {**shared, **definitions(self.page)}


PageRule = Callable[[Doc], Iterator[tuple[int, str]]]  # gives (line, message)
LessonRule = Callable[[Lesson], Iterator[tuple[str, int, str]]]  # gives (file, line, message)

PAGE_RULES: dict[str, PageRule] = {}
EPISODE_RULES: dict[str, PageRule] = {}  # page rules that only episodes have to keep
LESSON_RULES: dict[str, LessonRule] = {}


def page_rule(name: str) -> Callable[[PageRule], PageRule]:
    """Register a rule that every page has to keep."""
    return lambda rule: PAGE_RULES.setdefault(name, rule)


def episode_rule(name: str) -> Callable[[PageRule], PageRule]:
    """Register a rule that every episode has to keep."""
    return lambda rule: EPISODE_RULES.setdefault(name, rule)


def lesson_rule(name: str) -> Callable[[LessonRule], LessonRule]:
    """Register a rule that the lesson's folder has to keep."""
    return lambda rule: LESSON_RULES.setdefault(name, rule)


def all_rules() -> dict[str, Callable[..., object]]:
    """Return every rule by its id."""
    return {"readable": readable, **PAGE_RULES, **EPISODE_RULES, **LESSON_RULES}


def readable(lesson: Lesson, path: Path) -> Page | str:
    """Read a page, which must be UTF-8. (Gives the page, or what is wrong.)"""
    try:
        return lesson.page(path)
    except PageError as error:
        return str(error)


def lint_page(lesson: Lesson, path: Path) -> list[Finding]:
    """Return what is wrong with one page.

    In a page whose divs or code fences do not close, the other rules would only see the
    consequences; they wait until the structure is fixed.
    """
    name = (
        path.relative_to(lesson.root).as_posix() if path.is_relative_to(lesson.root) else str(path)
    )
    page = readable(lesson, path)
    if isinstance(page, str):
        return [Finding(name, 1, page, "readable")]
    doc = Doc(lesson, path, page)
    rules = {**PAGE_RULES, **(EPISODE_RULES if doc.is_episode else {})}
    if doc.is_documentation:
        kept = [name for name in rules if name.startswith(IN_DOCUMENTATION)]
        rules = {name: rules[name] for name in kept if name not in ON_A_SITE}
    found = [Finding(name, line, text, rule) for rule in rules for line, text in rules[rule](doc)]
    broken = [finding for finding in found if finding.rule in STRUCTURE]
    return sorted(broken or found)


def lint_lesson(lesson: Lesson) -> list[Finding]:
    """Return what is wrong with the lesson: its pages, the documentation, then its folder."""
    paths = [*lesson.page_paths(), *lesson.documentation_paths()]
    found = [finding for path in paths for finding in lint_page(lesson, path)]
    for rule, check in LESSON_RULES.items():
        found += sorted(Finding(name, line, text, rule) for name, line, text in check(lesson))
    return found
