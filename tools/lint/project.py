"""Rules on the lesson's folder: what has to be there, and config.yaml."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from typing import Any

from tools.lint.registry import lesson_rule
from tools.lint.structure import has_list
from tools.pages.folder import PAGE_FOLDERS, Lesson
from tools.pages.scanner import Div, Heading

ROOT_FILES = {
    "config.yaml": "the lesson's settings",
    "index.md": "the home page",
    "links.md": "the links that all pages share (it may be empty)",
    "LICENSE.md": "the licences",
    "CODE_OF_CONDUCT.md": "the code of conduct",
    "CONTRIBUTING.md": "how to contribute",
    "CITATION.cff": "how to cite the lesson",
}
PAGES = {
    "learners/setup.md": "what to install",
    "learners/reference.md": "the glossary",
    "instructors/instructor-notes.md": "notes for instructors",
    "profiles/learner-profiles.md": "for whom the lesson is",
}
GITIGNORE = [
    "episodes/*html",
    "site/*",
    "!site/README.md",
    ".Rhistory",
    ".Rapp.history",
    ".RData",
    ".Ruserdata",
    "*-Ex.R",
    "/*.tar.gz",
    "/*.Rcheck/",
    ".Rproj.user/",
    "vignettes/*.html",
    "vignettes/*.pdf",
    ".httr-oauth",
    "*_cache/",
    "/cache/",
    "*.utf8.md",
    "*.knit.md",
    ".Renviron",
    "docs/",
    "po/*~",
]
CARPENTRIES = ("swc", "dc", "lc", "cp", "lab", "incubator")
LIFE_CYCLES = ("pre-alpha", "alpha", "beta", "stable")
CITED = ("cff-version", "message", "title", "authors")  # what the Citation File Format asks for
PUBLIC_DOMAIN = re.compile(r"\bCC0\b|\bPDDL\b")
CONDUCT = re.compile(r"https://docs\.carpentries\.org/\S*(code-of-conduct|coc)")
OBJECTIVES = ("objectives", "what you will be able to do")  # headings, in small letters
Found = Iterator[tuple[str, int, str]]


@lesson_rule("root-file")
def root_file(lesson: Lesson) -> Found:
    """Require that the root holds the files that the Workbench and reviewers expect."""
    for name, what in ROOT_FILES.items():
        if not (lesson.root / name).is_file():
            yield name, 1, f"this file is missing; add it: {what}"


@lesson_rule("citation")
def citation(lesson: Lesson) -> Found:
    """CITATION.cff is YAML and says how to cite, what, and whose work it is."""
    name = "CITATION.cff"
    said = lesson.mapping(name) or {}
    for key in CITED if lesson.text(name) is not None else ():
        if not said.get(key):
            yield name, 1, f"`{key}` is missing, or the file is not valid YAML; add `{key}: …`"


@lesson_rule("data-licence")
def data_licence(lesson: Lesson) -> Found:
    """LICENSE.md puts the data into the public domain: under CC0, or PDDL."""
    name = "LICENSE.md"
    text = lesson.text(name)
    if text is not None and not PUBLIC_DOMAIN.search(text):
        yield name, 1, "no licence for the data; say which files are under CC0"


@lesson_rule("lesson-page")
def lesson_page(lesson: Lesson) -> Found:
    """Require that the pages that every lesson has are there."""
    for name, what in PAGES.items():
        if not (lesson.root / name).is_file():
            yield name, 1, f"this page is missing; add it: {what}"


@lesson_rule("episode-name")
def episode_name(lesson: Lesson) -> Found:
    """Require that episodes are called NN-slug.md."""
    for path in sorted((lesson.root / "episodes").glob("*.md")):
        if not re.fullmatch(r"\d\d-[a-z0-9]+(-[a-z0-9]+)*\.md", path.name):
            yield (
                f"episodes/{path.name}",
                1,
                "rename this page to NN-slug.md, such as 01-introduction.md",
            )


@lesson_rule("index-site")
def index_site(lesson: Lesson) -> Found:
    """index.md says `site: sandpaper::sandpaper_site`."""
    if lesson.text("index.md") is not None:
        front = lesson.page(lesson.root / "index.md").front_matter or {}
        if front.get("site") != "sandpaper::sandpaper_site":
            yield "index.md", 1, "add `site: sandpaper::sandpaper_site` to the front matter"


@lesson_rule("lesson-objectives")
def lesson_objectives(lesson: Lesson) -> Found:
    """index.md lists the lesson's own objectives, in an `objectives` div or under a heading."""
    if lesson.text("index.md") is None:
        return
    under = ""  # the heading above
    for block, around in lesson.page(lesson.root / "index.md").walk():
        if isinstance(block, Heading):
            under = block.text.strip().casefold()
        in_div = any("objectives" in div.classes for div in around)
        if (in_div or under in OBJECTIVES) and has_list([block]):
            return
    yield "index.md", 1, "the lesson has no objectives; add an `objectives` div with a list"


@lesson_rule("conduct-link")
def conduct_link(lesson: Lesson) -> Found:
    """Require that the code of conduct links The Carpentries' own."""
    name = "CODE_OF_CONDUCT.md"
    text = lesson.text(name)
    if text is not None and not CONDUCT.search(text):
        address = "https://docs.carpentries.org/policies/coc/"
        yield name, 1, f"link The Carpentries' code of conduct, {address}"


@lesson_rule("glossary")
def glossary(lesson: Lesson) -> Found:
    """learners/reference.md has a heading “Glossary”."""
    name = "learners/reference.md"
    if lesson.text(name) is not None and "glossary" not in _titles(lesson, name):
        yield name, 1, "the page has no glossary; add a heading `## Glossary`"


@lesson_rule("audience")
def audience(lesson: Lesson) -> Found:
    """Require that the learner profiles are of certain people: each has a heading."""
    name = "profiles/learner-profiles.md"
    if lesson.text(name) is not None and not _titles(lesson, name):
        yield name, 1, "the page describes nobody; add a heading for each person"


def _titles(lesson: Lesson, name: str) -> list[str]:
    """Return the headings of a page, in small letters."""
    blocks = [block for block, _ in lesson.page(lesson.root / name).walk()]
    return [block.text.strip().casefold() for block in blocks if isinstance(block, Heading)]


@lesson_rule("prerequisites")
def prerequisites(lesson: Lesson) -> Found:
    """Require on the home or set-up page, in a `prereq` div, what learners need to know."""
    names = [name for name in ("index.md", "learners/setup.md") if lesson.text(name) is not None]
    pages = [lesson.page(lesson.root / name) for name in names]
    divs = [block for page in pages for block, _ in page.walk() if isinstance(block, Div)]
    if names and not any("prereq" in div.classes for div in divs):
        yield names[0], 1, "the lesson states no prerequisites; add a `prereq` div"


@lesson_rule("gitignore")
def gitignore(lesson: Lesson) -> Found:
    """.gitignore holds the lines of the Workbench's template, which it checks."""
    present = {line.strip() for line in (lesson.text(".gitignore") or "").splitlines()}
    for line in GITIGNORE:
        if line not in present:
            yield ".gitignore", 1, f"the line `{line}` is missing; add it"


# --- config.yaml ---


def _is_filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(_is_filled(name) for name in value))


CONFIG: dict[str, tuple[Callable[[Any], bool], str]] = {
    "carpentry": (lambda v: v in CARPENTRIES, f"one of {', '.join(CARPENTRIES)}"),
    "title": (_is_filled, "the lesson's title"),
    "created": (lambda v: type(v) is datetime.date, "a date, YYYY-MM-DD"),
    "keywords": (_is_filled, "words separated by commas"),
    "life_cycle": (lambda v: v in LIFE_CYCLES, f"one of {', '.join(LIFE_CYCLES)}"),
    "license": (_is_filled, "the licence's name, such as CC-BY 4.0"),
    "source": (
        lambda v: _is_filled(v) and v.startswith("https://"),
        "the repository's https address",
    ),
    "branch": (_is_filled, "the repository's main branch"),
    "contact": (lambda v: _is_filled(v) and "@" in v, "an e-mail address"),
    **{folder: (_names, "a list of file names, or nothing") for folder in PAGE_FOLDERS},
}


def _line_of(lesson: Lesson, key: str) -> int:
    """Return the line of config.yaml that sets a key (1 if none does)."""
    lines = (lesson.text("config.yaml") or "").split("\n")
    return next((i for i, line in enumerate(lines, 1) if line.startswith(f"{key}:")), 1)


@lesson_rule("config-readable")
def config_readable(lesson: Lesson) -> Found:
    """config.yaml is valid YAML with `key: value` lines."""
    if (lesson.root / "config.yaml").is_file() and lesson.config() is None:
        yield "config.yaml", 1, "this file is not valid YAML; quote values with special characters"


@lesson_rule("config-key")
def config_key(lesson: Lesson) -> Found:
    """config.yaml has every key that the Workbench reads."""
    config = lesson.config()
    for key, (_, what) in CONFIG.items():
        if config is not None and key not in config:
            yield "config.yaml", 1, f"the key `{key}` is missing; add it: {what}"


@lesson_rule("config-value")
def config_value(lesson: Lesson) -> Found:
    """Require that the values in config.yaml are ones that the Workbench knows."""
    config = lesson.config() or {}
    for key, (good, what) in CONFIG.items():
        if key in config and not good(config[key]):
            line = _line_of(lesson, key)
            yield "config.yaml", line, f"`{key}` is {config[key]!r}; it has to be {what}"


@lesson_rule("config-file")
def config_file(lesson: Lesson) -> Found:
    """Require that a page listed in config.yaml exists. (An empty list means every page.)"""
    config = lesson.config() or {}
    for folder in PAGE_FOLDERS:
        for name in config.get(folder) or [] if _names(config.get(folder)) else []:
            if not (lesson.root / folder / name).is_file():
                line = _line_of(lesson, folder)
                yield (
                    "config.yaml",
                    line,
                    f"{folder}/{name} is listed and missing; add or unlist it",
                )


@lesson_rule("config-instructors")
def config_instructors(lesson: Lesson) -> Found:
    """Require instructor-notes.md in a list of instructors' pages.

    Without it the Workbench drops the list.
    """
    listed = (lesson.config() or {}).get("instructors")
    if listed and _names(listed) and "instructor-notes.md" not in listed:
        line = _line_of(lesson, "instructors")
        yield "config.yaml", line, "`instructors` lacks instructor-notes.md; add it"
