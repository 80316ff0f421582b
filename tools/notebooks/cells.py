"""From a page to a notebook's cells: what is live code, what is Markdown, who sees what.

- A ```python block is a code cell (```{.python .scrolled}: one with a long output); the ```output
  block right after it is what that cell has to print.
- Everything else is Markdown that JupyterLab shows as the site shows the page: other languages,
  ```{.python .display}, code in hints. Divs are coloured boxes, which a code cell interrupts; hints
  are folded away.
- Learners' notebooks leave solutions and the instructor's notes out.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from tools.lab import alone
from tools.notebooks.boxes import Piece, join_pieces
from tools.notebooks.links import Episodes, Links
from tools.pages.links import without_comments, without_definitions
from tools.pages.paths import paths_of
from tools.pages.scanner import FOLDED, Block, Code, Div, Heading, Prose

OPENING = """\
import lesson  # not found? Run `make setup` in the lesson's folder, and restart the kernel

lesson.opening()"""

NOTICE = "<!-- Written by `make notebooks` from {page}: change that page, not this file. -->"
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
_PICTURE = re.compile(r'!\[[^\]]*\]\((?P<file>fig/shown-[^)]*)\)\{alt="(?P<alt>[^"]*)"\}(?=\n\n|$)')
_CHECK = re.compile(r"^exercises\.(\w+)\.check\(", re.MULTILINE)
_DEFINITION = re.compile(r"^(\S.*)\n: +(.*(?:\n +\S.*)*)", re.MULTILINE)  # a term, what it means


@dataclass(frozen=True)
class Shown:
    """What a run of a cell has shown: text, or a picture and its description.

    `line` and `end` are those of its block on the page.
    """

    line: int
    end: int
    text: str
    picture: str = ""  # its file, beside the page


@dataclass(frozen=True)
class Cell:
    """A cell before it is a notebook's: `output` is what it has to print (None: anything).

    `name` is that of the section which begins here, if a link may lead to it. What a `scrolled`
    cell shows is long: JupyterLab gives it a frame that scrolls.
    """

    code: bool
    text: str
    output: str | None = None
    name: str = ""
    scrolled: bool = False
    shown: Shown | None = None


class Cells:
    """Turns blocks into cells: Markdown is gathered until a code cell or a new section."""

    def __init__(self, page_links: Links, hidden: frozenset[str], live: bool = True) -> None:
        """`live`: whether code cells are wanted, or all code as Markdown."""
        self.cells: list[Cell] = []
        self.links = page_links
        self.hidden = hidden
        self.live = live
        self.pieces: list[Piece] = []
        self.name = ""  # of the section that begins with these pieces
        self.outdent = 0  # a list item that a code cell cut in two: its rest moves left by this

    def blocks(self, blocks: list[Block], boxes: tuple[Div, ...] = ()) -> None:
        """Add the cells of these blocks, Markdown in its boxes."""
        left = deque(blocks)
        while left:
            block = left.popleft()
            if isinstance(block, Div):
                self._div(block, boxes)
            elif isinstance(block, Code) and block.live and self.live:
                self.flush()
                scrolled = "scrolled" in block.attributes.classes
                text = block.text.strip("\n") + self._help(block)
                output, shown = _below(left)
                self.cells.append(Cell(True, text, output, scrolled=scrolled, shown=shown))
                self.outdent = block.indent
            else:
                if isinstance(block, Heading):
                    if not boxes:
                        self.flush()
                    self._begin(self.links.names[block.line])
                self._add(self.markdown(block), boxes)

    def _help(self, cell: Code) -> str:
        """Return what a learner uncomments below an exercise.

        Return "" where the solution is at hand.
        """
        asked = _CHECK.findall(cell.text) if "solution" in self.hidden else []
        lines = [f"# exercises.{name}.{verb}()" for name in asked for verb in ("hint", "solution")]
        return "\n\n" + "\n".join(lines) if lines else ""

    def _div(self, div: Div, boxes: tuple[Div, ...]) -> None:
        kinds = set(div.classes)
        if kinds & self.hidden:
            return
        if not boxes:
            self.flush()
        if kinds & FOLDED:
            self._add(self.markdown(div), boxes)
        else:
            self._begin(div.attributes.id or "")
            self._add(self._title(div), (*boxes, div))
            self.blocks(div.children, (*boxes, div))
        if not boxes:
            self.flush()

    def _begin(self, name: str) -> None:
        """Let a cell begin here if a link may lead to this name."""
        if self.links.is_target(name):
            self.flush()
            self.name = name

    def _title(self, div: Div) -> str:
        """Return the div's name in bold, unless its own heading starts with it."""
        title = next((TITLES[kind] for kind in div.classes if kind in TITLES), "")
        first = div.children[0] if div.children else None
        if isinstance(first, Heading) and first.text.casefold().startswith(title.casefold()):
            title = ""
        return f"**{title}**" if title else ""

    def markdown(self, block: Block) -> str:
        """Return one block as Markdown that JupyterLab shows as the page does."""
        match block:
            case Heading():
                return f"{'#' * block.level} {self.links.rewrite(block.text)}"
            case Code():
                return _indent(_fence(block), block.indent)
            case Prose():
                text = self.links.rewrite(without_comments(block.text))
                return _DEFINITION.sub(_term, without_definitions(text)).rstrip()
            case Div():
                inside = Cells(self.links, self.hidden)
                for child in block.children:
                    if not (isinstance(child, Div) and set(child.classes) & self.hidden):
                        inside._add(inside.markdown(child), ())
                title = next((TITLES[kind] for kind in block.classes if kind in TITLES), "More")
                text = join_pieces(inside.pieces)
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
            self.cells.append(Cell(False, join_pieces(self.pieces), name=self.name))
            self.pieces = []
            self.name = ""


def _below(left: deque[Block]) -> tuple[str | None, Shown | None]:
    """Take what is below a live cell: the output that is expected, or what a run has shown."""
    if not left:
        return None, None
    block = left[0]
    if isinstance(block, Code) and block.language == "output":
        left.popleft()
        if "shown" not in block.attributes.classes:
            return block.text, None
        return None, Shown(block.line, block.end, block.text)
    if isinstance(block, Prose) and (match := _PICTURE.match(block.text)):
        left.popleft()
        if rest := block.text[match.end() :].lstrip("\n"):
            lines = block.text.removesuffix(rest).count("\n")
            left.appendleft(Prose(block.line + lines, rest))
        return None, Shown(block.line, block.line, match["alt"], match["file"])
    return None, None


def _fence(code: Code) -> str:
    """Return the block with a plain fence: `{.python .display}` becomes `python`."""
    if not code.fence:
        return code.text
    language = "text" if code.language == "output" else code.language or ""
    return f"{code.fence}{language}\n{code.text}\n{code.fence}"


def _indent(text: str, indent: int) -> str:
    return re.sub(r"^(?=.)", " " * indent, text, flags=re.MULTILINE)


def _term(match: re.Match[str]) -> str:
    """Return a term and what it means, which JupyterLab's Markdown has no form for."""
    term, meaning = match.groups()
    moved = re.sub(r"\n {1,4}", "\n", meaning)
    return f"**{term}**<br>{moved}"


def cells(lesson: Episodes, path: Path, instructor: bool) -> list[Cell]:
    """Return the cells of an episode: its title, the opening cell, then the page."""
    page = lesson.pages[path]
    front = page.front_matter or {}
    folder = lesson.root / "notebooks" / ("instructor" if instructor else "")
    title = f"# {front['title']}" + (" (instructor)" if instructor else "")
    minutes = (
        f"*Teaching {front.get('teaching', 0)} min, exercises {front.get('exercises', 0)} min*"
    )
    notice = NOTICE.format(page=path.relative_to(lesson.root).as_posix())
    page_cells = Cells(
        Links(lesson, path, folder), frozenset() if instructor else HIDDEN_FROM_LEARNERS
    )
    page_cells.blocks(page.blocks)
    page_cells.flush()
    file = (folder / f"{path.stem}.ipynb").relative_to(lesson.root).as_posix()
    urls = alone.elsewhere(lesson.source, lesson.branch, file)
    links = " or ".join(f"[{place}]({url})" for place, url in urls.items())
    first = [title, minutes, *([f"Open this notebook in {links}."] if urls else []), notice]
    return [
        Cell(False, "\n\n".join(first)),
        Cell(True, (alone.cell(lesson.source) if lesson.source else "") + OPENING),
        *page_cells.cells,
        *_ways_on(lesson, path, page_cells.links),
    ]


def _ways_on(lesson: Episodes, path: Path, links: Links) -> list[Cell]:
    """Return a cell that leads to the notebooks before and after an episode, if there are days."""
    paths, lines = paths_of(lesson.root), []
    if not paths.days:
        return []
    for word, steps in (("Next", paths.after(path.stem)), ("Previous", paths.before(path.stem))):
        for step in steps:
            page = lesson.pages[path.with_name(f"{step.episode}.md")]
            title = (page.front_matter or {})["title"]
            day = f" {step.day}" if step.day else ""
            lines.append(f"{word}{day}: [{title}]({step.episode}.md)")
    return [Cell(False, links.rewrite(" · ".join(lines)))] if lines else []
