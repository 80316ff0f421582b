"""A scanned page as HTML, in the view of learners or of instructors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from itertools import groupby
from pathlib import Path

from tools.folder import PageError
from tools.links import blank_code, heading_names, without_comments, without_definitions
from tools.scanner import Block, Code, Div, Heading, Prose
from tools.site.boxes import box, first_heading
from tools.site.plan import Plan
from tools.site.prose import html_of, inline
from tools.site.targets import Targets

_OVERVIEW = frozenset({"questions", "objectives"})
_UNSUPPORTED = {r"\[\^[^\]\s]+\]": "footnotes", r"(?m)^\s*\$\$": "formulas"}
_TABS = frozenset({"tab", "group-tab"})


class Body:
    """Renders the blocks of one page. What learners are not to see is not in their pages at all."""

    def __init__(self, plan: Plan, path: Path, instructor: bool, *, prefix: str = "") -> None:
        """`prefix` goes before every id, where blocks are shown on another page as well."""
        page = plan.page(path)
        self.path = path
        self.instructor = instructor
        self.prefix = prefix
        self.targets = Targets(plan, path, instructor, inline=inline)
        self.names = {heading.line: name for heading, name, _ in heading_names(page)}
        divs = [block for block, _ in page.walk() if isinstance(block, Div)]
        notes = [div.line for div in divs if "instructor" in div.classes]
        self.notes = {line: f"note-{number}" for number, line in enumerate(notes, 1)}

    def html(self, blocks: Iterable[Block]) -> str:
        """Return the HTML of blocks that follow each other."""
        pieces = []
        for sort, group in groupby(blocks, key=_sort):
            if sort == "prose":
                run = [
                    self._rewrite_links(block) for block in group if isinstance(block, Prose | Code)
                ]
                pieces.append(html_of(run))
            elif sort == "overview":
                boxes = "\n".join(self._div(div) for div in group if isinstance(div, Div))
                pieces.append(f'<div class="overview">\n{boxes}\n</div>')
            else:
                pieces += [self._one(block) for block in group]
        return "\n".join(piece for piece in pieces if piece)

    def heading(self, heading: Heading) -> str:
        """Return a heading with the id by which links find it."""
        name = escape(self.prefix + self.names[heading.line])
        return f'<h{heading.level} id="{name}">{self.words(heading)}</h{heading.level}>'

    def words(self, heading: Heading) -> str:
        """Return what a heading says."""
        return inline(self.targets.rewrite(heading.text))

    def _rewrite_links(self, block: Prose | Code) -> Prose | Code:
        if isinstance(block, Code):
            return block
        self._refuse(block)
        text = self.targets.rewrite(without_comments(block.text))
        return Prose(block.line, without_definitions(text))

    def _refuse(self, block: Prose) -> None:
        """Raise PageError for what the site cannot show as it is meant."""
        for pattern, what in _UNSUPPORTED.items():
            if re.search(pattern, blank_code(block.text)):
                raise PageError(
                    f"{self.path.name}: the site shows no {what} (in the paragraph of line "
                    f"{block.line}); say it in the text"
                )

    def _one(self, block: Block) -> str:
        if isinstance(block, Heading):
            return self.heading(block)
        if not isinstance(block, Div) or ("instructor" in block.classes and not self.instructor):
            return ""
        return self._tabs(block) if _TABS & set(block.classes) else self._div(block)

    def _div(self, div: Div) -> str:
        first, rest = first_heading(div)
        name = div.attributes.id or self.notes.get(div.line, "")
        return box(
            div,
            first,
            self.heading(first) if first else "",
            inside=self.html(rest),
            name=self.prefix + name if name else "",
        )

    def _tabs(self, div: Div) -> str:
        """Return tabs as a row of parts of which one is open: they need no script."""
        parts: list[tuple[Heading, list[Block]]] = []
        for block in div.children:
            if isinstance(block, Heading):
                parts.append((block, []))
            elif parts:
                parts[-1][1].append(block)
        name = f"tabs-{div.line}"
        return "\n".join(
            f'<details class="tab" name="{name}"{"" if at else " open"}>'
            f"<summary>{self.heading(title)}</summary>"
            f'<div class="inside">{self.html(blocks)}</div></details>'
            for at, (title, blocks) in enumerate(parts)
        )


def _sort(block: Block) -> str:
    """Return what is rendered together: prose with its code, the boxes at an episode's start."""
    if isinstance(block, Prose | Code):
        return "prose"
    overview = isinstance(block, Div) and bool(_OVERVIEW & set(block.classes))
    return "overview" if overview else "one"
