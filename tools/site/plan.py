"""Which pages the site has, in which order they are read, and what each is called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.pages.folder import Lesson, PageError
from tools.pages.paths import Step, paths_of
from tools.pages.scanner import Page

INDEX = "index.html"
KEY_POINTS = "key-points.html"
NOTES = "instructor-notes.html"
PARTS = ("Start", "Episodes", "More", "For instructors", "About")
_ABOUT = ("LICENSE.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md")
_NEEDED = ("title", "license", "source", "contact")  # of config.yaml: every page shows them
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.md")  # what every system and address can hold


@dataclass(frozen=True)
class Entry:
    """A page of the site; `path` is None where it is made from the others."""

    file: str
    title: str
    part: str
    path: Path | None = None
    teaching: int = 0
    exercises: int = 0

    @property
    def name(self) -> str:
        """Return the page's name, without its ending."""
        return self.file.removesuffix(".html")

    @property
    def shown(self) -> str:
        """Return the title as the list of pages shows it."""
        if self.file == INDEX:
            return "Home"
        return f"{self.number} {self.title}" if self.number else self.title

    @property
    def number(self) -> str:
        """Return the number by which the lesson's pages speak of an episode."""
        return self.file.partition("-")[0] if self.part == "Episodes" else ""

    @property
    def minutes(self) -> int:
        """Return how long the episode takes."""
        return self.teaching + self.exercises


@dataclass(frozen=True)
class Way:
    """A page before or after another one, and the day on which it is; "" on all."""

    entry: Entry
    day: str = ""


class Plan:
    """The site's pages, in reading order. Raises PageError for what cannot be read as meant."""

    def __init__(self, root: Path) -> None:
        """`root` is the lesson's folder."""
        self.lesson = Lesson(root)
        self.root = self.lesson.root
        config = self.lesson.config()
        if config is None:
            raise PageError(f"{self.root}/config.yaml is missing or no YAML; fix it first")
        for key in _NEEDED:
            if not config.get(key):
                raise PageError(f"config.yaml: `{key}` is missing; every page shows it, so add it")
        self.config: dict[str, Any] = config
        self.paths = paths_of(self.root)
        self.entries = self._entries()
        files = [entry.file.casefold() for entry in self.entries]
        for file in files:
            if files.count(file) > 1:
                raise PageError(
                    f"config.yaml: two pages would be {file}; list each once, or rename"
                )

    def of(self, instructor: bool) -> list[Entry]:
        """Return the pages of one view."""
        return [entry for entry in self.entries if instructor or entry.part != "For instructors"]

    @property
    def episodes(self) -> list[Entry]:
        """Return the episodes, in order."""
        return [entry for entry in self.entries if entry.part == "Episodes"]

    def page(self, path: Path) -> Page:
        """Return a page as scanned. Raises PageError if it is not sound."""
        page = self.lesson.page(path)
        for problem in page.problems:
            name = path.relative_to(self.root)
            raise PageError(f"{name}:{problem.line}: {problem.message}")
        return page

    def _entries(self) -> list[Entry]:
        """Return home and set-up, the episodes, what stands beside them, and the small print."""
        learners = self._list_pages("learners")
        setup = [path for path in learners if path.stem == "setup"]
        beside = [path for path in learners if path not in setup] + self._list_pages("profiles")
        about = [path for name in _ABOUT if (path := self.root / name).is_file()]
        return [
            Entry(INDEX, str(self.config.get("title", "")), "Start", self.root / "index.md"),
            *(self._entry(path, "Start") for path in setup),
            *(self._entry(path, "Episodes") for path in self._list_pages("episodes")),
            Entry(KEY_POINTS, "Key points", "More"),
            *(self._entry(path, "More") for path in beside),
            *(self._entry(path, "For instructors") for path in self._list_pages("instructors")),
            *(self._entry(path, "About") for path in about),
        ]

    def _list_pages(self, folder: str) -> list[Path]:
        """Return the pages of a folder that config.yaml lists; an empty list means all of them."""
        names = self.config.get(folder) or [p.name for p in (self.root / folder).glob("*.md")]
        if not isinstance(names, list):
            raise PageError(f"config.yaml: `{folder}` is no list; write one file name a line")
        for name in names:
            if not _NAME.fullmatch(str(name)):
                raise PageError(
                    f"{folder}: `{name}` cannot be the name of a page; use letters, digits, "
                    "- and _, and .md at the end, as in 01-start.md"
                )
        listed = names if self.config.get(folder) else sorted(names)
        return [self.root / folder / name for name in listed]

    def _entry(self, path: Path, part: str) -> Entry:
        front = self.page(path).front_matter or {}
        name = path.relative_to(self.root)
        if not front.get("title"):
            raise PageError(f"{name}:1: the front matter has no title; add one")
        minutes = [front.get(key) or 0 for key in ("teaching", "exercises")]
        if not all(isinstance(each, int) and each >= 0 for each in minutes):
            raise PageError(f"{name}:1: `teaching` and `exercises` are minutes; give whole numbers")
        return Entry(f"{path.stem}.html", str(front["title"]), part, path, *minutes)

    def group(self, instructor: bool) -> list[tuple[str, list[Entry]]]:
        """Return the pages of one view, by part."""
        entries, parts = self.of(instructor), []
        for part in PARTS:
            if part == "Episodes":
                parts += self._groups_of_episodes()
            else:
                parts.append((part, [entry for entry in entries if entry.part == part]))
        return [(part, pages) for part, pages in parts if pages]

    def _groups_of_episodes(self) -> list[tuple[str, list[Entry]]]:
        by_name = {entry.path.stem: entry for entry in self.episodes if entry.path}
        return [
            (group, [by_name[name] for name in names if name in by_name])
            for group, names in self.paths.groups.items()
        ]

    def neighbours(self, entry: Entry, instructor: bool) -> tuple[list[Way], list[Way]]:
        """Return what is read before a page, and what after it.

        Between episodes that is what the days and the groups of the index say.
        """
        before, after = [], []
        if entry.part == "Episodes" and entry.path:
            before = [self._way(step) for step in self.paths.before(entry.path.stem)]
            after = [self._way(step) for step in self.paths.after(entry.path.stem)]
        row = self._row(instructor)
        at = row.index(entry)
        if not before and at > 0:
            before = [Way(row[at - 1])]
        if not after and at + 1 < len(row):
            after = [Way(row[at + 1])]
        return before, after

    def _way(self, step: Step) -> Way:
        entry = next(each for each in self.episodes if each.file == f"{step.episode}.html")
        return Way(entry, step.day)

    def _row(self, instructor: bool) -> list[Entry]:
        """Return the pages of one view, the episodes in the order of their groups."""
        return [entry for _, entries in self.group(instructor) for entry in entries]
