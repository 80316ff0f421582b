"""From a page to a notebook's cells: what is live code, what is Markdown, who sees what.

- A ```python block is a code cell; the ```output block right after it is what that cell has to
  print.
- Everything else is Markdown that JupyterLab shows as the site shows the page: other languages,
  ```{.python .display}, code in hints. Divs are coloured boxes, which a code cell interrupts; hints
  are folded away.
- Learners' notebooks leave solutions and the instructor's notes out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from urllib.parse import quote

from tools.folder import Lesson, PageError, linked_file
from tools.links import (
    Link,
    definitions,
    heading_names,
    links,
    outermost,
    page_links,
    without_comments,
    without_definitions,
)
from tools.notebook_boxes import Piece, joined
from tools.scanner import FOLDED, Block, Code, Div, Heading, Page, Prose

OPENING = """\
import lesson  # not found? Run `make setup` in the lesson's folder, and restart the kernel

lesson.opening()"""

NOTICE = "<!-- Written by `make notebooks` from {page}: change that page, not this notebook. -->"
HIDDEN_FROM_LEARNERS = frozenset({"solution", "instructor"})
TITLES = {
    "questions": "Questions",
    "objectives": "Objectives",
    "keypoints": "Key points",
    "callout": "Note",
    "caution": "Caution",
    "challenge": "Exercise",
    "checklist": "Checklist",
    "discussion": "Discussion",
    "hint": "Hint",
    "instructor": "For instructors",
    "prereq": "Before you start",
    "solution": "Solution",
    "spoiler": "More",
    "testimonial": "Testimonial",
}
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")


@dataclass(frozen=True)
class Cell:
    """A cell before it is a notebook's: `output` is what it has to print (None: anything)."""

    code: bool
    text: str
    output: str | None = None


@dataclass
class Episodes:
    """The episodes as read, and what their links need to know."""

    root: Path
    pages: dict[Path, Page]
    shared: Mapping[str, str]  # the definitions of links.md, which the Workbench adds to each page
    linked: set[tuple[Path, str]] = field(default_factory=set)  # (page, fragment) of every link


def read_episodes(root: Path) -> Episodes:
    """Read the episodes.

    Raises PageError for a page that cannot be read as meant: where a div is never closed, or
    called `solutions`, nobody can tell what learners are not to see.
    """
    folder = Lesson(root)
    root = folder.root
    paths = sorted((root / "episodes").glob("*.md"))
    if not paths:
        raise PageError(f"{root / 'episodes'} holds no pages; run this in the lesson's folder")
    pages = {path: folder.page(path) for path in paths}
    for path, page in pages.items():
        for problem in page.problems:
            raise PageError(f"{path.relative_to(root)}:{problem.line}: {problem.message}")
        if not (page.front_matter or {}).get("title"):
            raise PageError(f"{path.relative_to(root)}:1: the front matter has no title; add one")
    if (root / "links.md").is_file():
        folder.page(root / "links.md")  # raises if it cannot be read
    shared = folder.shared_links
    lesson = Episodes(root, pages, shared)
    for path, page in pages.items():
        for _, link in page_links(page, {**shared, **definitions(page)}):
            name, hash_mark, fragment = (link.target or "").partition("#")
            if hash_mark and not _SCHEME.match(name):
                target = linked_file(root, path, name) if name else path
                lesson.linked.add((target or path, fragment))
    return lesson


class _Links:
    """Rewrites a page's links so that they work from a notebook in another folder."""

    def __init__(self, lesson: Episodes, page: Path, folder: Path) -> None:
        self.lesson = lesson
        self.page = page
        self.folder = folder
        self.known = {**lesson.shared, **definitions(lesson.pages[page])}
        self.names = {heading.line: name for heading, name, _ in heading_names(lesson.pages[page])}

    def rewrite(self, text: str, captions: bool = True) -> str:
        """The text with every link and image pointing at the right place."""
        for link in reversed(outermost(links(text, self.known))):
            new = self._link(link, text[link.start : link.end], captions)
            text = text[: link.start] + new + text[link.end :]
        return text

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
        path, hash_mark, fragment = target.partition("#")
        if not path or _SCHEME.match(path):
            return target
        found = linked_file(self.lesson.root, self.page, path) or self.page.parent / path
        if found in self.lesson.pages:
            new = f"{found.stem}.ipynb"
        else:
            new = Path(os.path.relpath(found, self.folder)).as_posix()
        return quote(new) + hash_mark + fragment

    def anchor(self, name: str) -> str:
        """An HTML anchor if some link points at this name of the page, else nothing."""
        return f'<a id="{name}"></a>\n\n' if (self.page, name) in self.lesson.linked else ""


class _Cells:
    """Turns blocks into cells: Markdown is gathered until a code cell or a new section."""

    def __init__(self, page_links: _Links, hidden: frozenset[str]) -> None:
        self.cells: list[Cell] = []
        self.links = page_links
        self.hidden = hidden
        self.pieces: list[Piece] = []
        self.outdent = 0  # a list item that a code cell cut in two: its rest moves left by this

    def blocks(self, blocks: list[Block], boxes: tuple[Div, ...] = ()) -> None:
        """Add the cells of these blocks, Markdown in its boxes."""
        skip = False  # this block was taken as the output of the one before
        for block, after in zip_longest(blocks, blocks[1:]):
            if skip:
                skip = False
            elif isinstance(block, Div):
                self._div(block, boxes)
            elif isinstance(block, Code) and block.live:
                skip = isinstance(after, Code) and after.language == "output"
                self.flush()
                output = after.text if skip and isinstance(after, Code) else None
                self.cells.append(Cell(True, block.text.strip("\n"), output))
                self.outdent = block.indent
            else:
                if isinstance(block, Heading) and not boxes:
                    self.flush()
                self._add(self.markdown(block), boxes)

    def _div(self, div: Div, boxes: tuple[Div, ...]) -> None:
        kinds = set(div.classes)
        if kinds & self.hidden:
            return
        if not boxes:
            self.flush()
        if kinds & FOLDED:
            self._add(self.markdown(div), boxes)
        else:
            self._add(self._title(div), (*boxes, div))
            self.blocks(div.children, (*boxes, div))
        if not boxes:
            self.flush()

    def _title(self, div: Div) -> str:
        """The div's name in bold, unless its own heading starts with it."""
        anchor = self.links.anchor(div.attributes.id or "")
        title = next((TITLES[kind] for kind in div.classes if kind in TITLES), "")
        first = div.children[0] if div.children else None
        if isinstance(first, Heading) and first.text.casefold().startswith(title.casefold()):
            title = ""
        return (anchor + (f"**{title}**" if title else "")).strip()

    def markdown(self, block: Block) -> str:
        """One block as Markdown that JupyterLab shows as the page does."""
        match block:
            case Heading():
                anchor = self.links.anchor(self.links.names[block.line])
                return f"{anchor}{'#' * block.level} {self.links.rewrite(block.text)}"
            case Code():
                return _indented(_fenced(block), block.indent)
            case Prose():
                text = self.links.rewrite(without_comments(block.text))
                return without_definitions(text).rstrip()
            case Div():
                inside = _Cells(self.links, self.hidden)
                for child in block.children:
                    if not (isinstance(child, Div) and set(child.classes) & self.hidden):
                        inside._add(inside.markdown(child), ())
                title = next((TITLES[kind] for kind in block.classes if kind in TITLES), "More")
                text = joined(inside.pieces)
                return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"

    def _add(self, text: str, boxes: tuple[Div, ...]) -> None:
        if self.outdent:
            lines = text.split("\n")
            rest = next((i for i, x in enumerate(lines) if x and not x[0].isspace()), len(lines))
            moved = [re.sub(rf"^ {{1,{self.outdent}}}", "", line) for line in lines[:rest]]
            self.outdent = self.outdent if rest == len(lines) else 0
            text = "\n".join([*moved, *lines[rest:]])
        if text.strip():
            self.pieces.append((boxes, text))

    def flush(self) -> None:
        """End the Markdown cell, if there is one."""
        if self.pieces:
            self.cells.append(Cell(False, joined(self.pieces)))
            self.pieces = []


def _fenced(code: Code) -> str:
    """The block with a plain fence: `{.python .display}` becomes `python`."""
    if not code.fence:
        return code.text
    language = "text" if code.language == "output" else code.language or ""
    return f"{code.fence}{language}\n{code.text}\n{code.fence}"


def _indented(text: str, indent: int) -> str:
    return re.sub(r"^(?=.)", " " * indent, text, flags=re.MULTILINE)


def cells(lesson: Episodes, path: Path, instructor: bool) -> list[Cell]:
    """The cells of an episode: its title, the opening cell, then the page."""
    page = lesson.pages[path]
    front = page.front_matter or {}
    folder = lesson.root / "notebooks" / ("instructor" if instructor else "")
    title = f"# {front['title']}" + (" (instructor)" if instructor else "")
    minutes = (
        f"*Teaching {front.get('teaching', 0)} min, exercises {front.get('exercises', 0)} min*"
    )
    notice = NOTICE.format(page=path.relative_to(lesson.root).as_posix())
    page_cells = _Cells(
        _Links(lesson, path, folder), frozenset() if instructor else HIDDEN_FROM_LEARNERS
    )
    page_cells.blocks(page.blocks)
    page_cells.flush()
    return [
        Cell(False, f"{title}\n\n{minutes}\n\n{notice}"),
        Cell(True, OPENING),
        *page_cells.cells,
    ]
