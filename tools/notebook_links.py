"""Where the links of a page lead from a notebook, and which of a page's names they point at.

Of all that JupyterLab understands after a `#`, one thing works however far down a notebook it is:
`#cell-id=…`. So a linked section begins a cell, and its name is that cell's id. The learners' pages
stand beside the notebooks as Markdown; there `#name` finds an anchor.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from tools.folder import Lesson, PageError, resolve_link
from tools.links import Link, definitions, heading_names, links, outermost, page_links
from tools.scanner import Page

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_SPAN = re.compile(r"\[([^\[\]]*)\]\{\s*#([^\s{}]+)\s*\}")


@dataclass
class Episodes:
    """The episodes and the learners' pages as read, and what their links need to know."""

    root: Path
    pages: dict[Path, Page]  # the episodes
    beside: dict[Path, Page]  # the learners' pages
    shared: Mapping[str, str]  # the definitions of links.md, which the Workbench adds to each page
    source: str  # where the lesson is cloned from; "" if nothing says so
    branch: str
    linked: set[tuple[Path, str]] = field(default_factory=set)  # (page, fragment) of every link


def read_episodes(root: Path) -> Episodes:
    """Read the episodes and the learners' pages.

    Raises PageError for a page that cannot be read as meant: where a div is never closed, or
    called `solutions`, nobody can tell what learners are not to see.
    """
    folder = Lesson(root)
    root = folder.root
    paths = sorted((root / "episodes").glob("*.md"))
    if not paths:
        raise PageError(f"{root / 'episodes'} holds no pages; run this in the lesson's folder")
    pages = {path: folder.page(path) for path in paths}
    beside = {path: folder.page(path) for path in sorted((root / "learners").glob("*.md"))}
    for path, page in {**pages, **beside}.items():
        for problem in page.problems:
            raise PageError(f"{path.relative_to(root)}:{problem.line}: {problem.message}")
        if not (page.front_matter or {}).get("title"):
            raise PageError(f"{path.relative_to(root)}:1: the front matter has no title; add one")
    if (root / "links.md").is_file():
        folder.page(root / "links.md")  # raises if it cannot be read
    shared = folder.shared_links
    config = folder.config() or {}
    source, branch = (str(config.get(name, "")) for name in ("source", "branch"))
    lesson = Episodes(root, pages, beside, shared, source.rstrip("/"), branch)
    for path, page in {**pages, **beside}.items():
        for _, link in page_links(page, {**shared, **definitions(page)}):
            name, hash_mark, fragment = (link.target or "").partition("#")
            if hash_mark and not _SCHEME.match(name):
                target = resolve_link(root, path, name) if name else path
                lesson.linked.add((target or path, fragment))
    return lesson


class Links:
    """Rewrites a page's links so that they work from `folder`, a folder of notebooks or pages."""

    def __init__(self, lesson: Episodes, path: Path, folder: Path) -> None:
        """`path` is the page whose text is written into `folder`."""
        page = lesson.pages.get(path) or lesson.beside[path]
        self.lesson = lesson
        self.path = path
        self.folder = folder
        self.known = {**lesson.shared, **definitions(page)}
        self.names = {heading.line: name for heading, name, _ in heading_names(page)}

    def rewrite(self, text: str, captions: bool = True) -> str:
        """Return the text with every link and image pointing at its place, and spans found."""
        for link in reversed(outermost(links(text, self.known))):
            new = self._link(link, text[link.start : link.end], captions)
            text = text[: link.start] + new + text[link.end :]
        return _SPAN.sub(r'<a id="\2"></a>\1', text)

    def _link(self, link: Link, raw: str, captions: bool) -> str:
        if link.target is None or link.form == "auto":
            return raw
        target = self._target(link.target)
        if link.form == "html":
            return raw.replace(link.target, target)
        if not link.image:
            return f"[{self.rewrite(link.text, captions=False)}]({target})"
        # Pandoc's alternative text is an attribute, and the brackets hold the caption.
        alt = " ".join(link.attributes.pairs.get("alt", link.text).split())
        shown = captions and link.text and link.text != alt
        caption = f"<br>*{self.rewrite(link.text, captions=False)}*" if shown else ""
        escaped = re.sub(r"([][])", r"\\\1", alt)
        return f"![{escaped}]({target}){caption}"

    def _target(self, target: str) -> str:
        name, _, fragment = target.partition("#")
        if _SCHEME.match(name):
            return target
        found = resolve_link(self.lesson.root, self.path, name) if name else self.path
        found = found or self.path.parent / name
        if found in self.lesson.pages:
            cell_id = f"#cell-id={id_of(fragment)}" if fragment else ""
            return self._way(self._notebooks() / f"{found.stem}.ipynb", name) + cell_id
        if found in self.lesson.beside:
            found = page_file(self.lesson.root, found)
        return self._way(found, name) + (f"#{fragment}" if fragment else "")

    def _notebooks(self) -> Path:
        """Return where the notebooks are that this text leads to: instructors stay among theirs."""
        own = self.lesson.root / "notebooks" / "instructor"
        return own if self.folder == own else own.parent

    def _way(self, to: Path, name: str) -> str:
        """Return the relative path to a file; nothing where the link names none."""
        return quote(Path(os.path.relpath(to, self.folder)).as_posix()) if name else ""

    def is_target(self, name: str) -> bool:
        """Return whether links may point at this name: at every one of a learners' page."""
        return bool(name) and (
            self.path in self.lesson.beside or (self.path, name) in self.lesson.linked
        )


def page_file(root: Path, path: Path) -> Path:
    """Return where a learners' page is for JupyterLab."""
    return root / "notebooks" / "pages" / path.name


def id_of(name: str) -> str:
    """Return a section's name as the id of a cell: at most 64 letters, digits, - and _."""
    return re.sub(r"[^a-zA-Z0-9_-]", "-", name)[:64]
