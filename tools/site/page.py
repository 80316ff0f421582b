"""A scanned page as Sphinx's nodes, in the view of learners or of instructors.

Headings are sections, so that they are in the contents and in the search. A box with a heading is a
section too, any other an admonition; hints and solutions are folded away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from docutils import nodes

from tools.notebooks.cells import TITLES
from tools.pages.folder import PageError
from tools.pages.links import (
    blank_code,
    heading_names,
    plain,
    without_comments,
    without_definitions,
)
from tools.pages.scanner import Block, Code, Div, Heading, Prose
from tools.site.plan import Plan
from tools.site.prose import html_of, inline
from tools.site.targets import Targets

_UNSUPPORTED = {r"\[\^[^\]\s]+\]": "footnotes", r"(?m)^\s*\$\$": "formulas"}
_FOLDED = frozenset({"hint", "solution", "spoiler"})
_TABS = frozenset({"tab", "group-tab"})


class PageNodes:
    """Makes the nodes of one page. What learners are not to see is not in their pages at all."""

    def __init__(self, plan: Plan, path: Path, instructor: bool) -> None:
        """`path` is the page's file."""
        page = plan.page(path)
        self.path = path
        self.instructor = instructor
        self.targets = Targets(plan, path, instructor, inline=inline)
        self.names = {heading.line: name for heading, name, _ in heading_names(page)}
        divs = [block for block, _ in page.walk() if isinstance(block, Div)]
        notes = [div.line for div in divs if "instructor" in div.classes]
        self.notes = {line: f"note-{number}" for number, line in enumerate(notes, 1)}

    def fill(self, parent: nodes.Element, blocks: Iterable[Block], level: int = 1) -> None:
        """Put blocks that follow each other into a node, whose own heading has that level."""
        open_sections = [(level, parent)]

        def section_of(heading_level: int) -> nodes.Element:
            while len(open_sections) > 1 and open_sections[-1][0] >= heading_level:
                open_sections.pop()
            return open_sections[-1][1]

        for is_prose, group in groupby(blocks, lambda block: isinstance(block, Prose | Code)):
            if is_prose:
                open_sections[-1][1].append(self.prose(group))
                continue
            for block in group:
                if isinstance(block, Heading):
                    made = section(self.names[block.line], block.text)
                    section_of(block.level).append(made)
                    open_sections.append((block.level, made))
                elif isinstance(block, Div) and self._shows(block):
                    first, rest = first_heading(block)
                    if first:
                        section_of(first.level)
                    open_sections[-1][1].extend(self._boxes(block, first, rest))

    def prose(self, blocks: Iterable[Block]) -> nodes.Node:
        """Return prose and its code, whose links lead to their places on the site."""
        run: list[Prose | Code] = []
        for block in blocks:
            if isinstance(block, Prose):
                self._refuse(block)
                text = self.targets.rewrite(without_comments(block.text))
                run.append(Prose(block.line, without_definitions(text)))
            elif isinstance(block, Code):
                run.append(block)
        return raw(html_of(run))

    def _refuse(self, block: Prose) -> None:
        """Raise PageError for what the site cannot show as it is meant."""
        for pattern, what in _UNSUPPORTED.items():
            if re.search(pattern, blank_code(block.text)):
                raise PageError(
                    f"{self.path.name}: the site shows no {what} (in the paragraph of line "
                    f"{block.line}); say it in the text"
                )

    def _shows(self, div: Div) -> bool:
        return self.instructor or "instructor" not in div.classes

    def _boxes(self, div: Div, first: Heading | None, rest: list[Block]) -> list[nodes.Element]:
        """Return the box of a div, or one for each of its tabs."""
        if _TABS & set(div.classes):
            return self._tabs(div)
        kind = next((name for name in div.classes if name in TITLES), "callout")
        box: nodes.Element
        if first and kind not in _FOLDED:
            box = section(self.names[first.line], _make_title(kind, first.text))
        else:
            title = _make_title(kind, first.text) if first else TITLES[kind]
            box = admonition(title, folded=kind in _FOLDED)
            if first:
                box["ids"].append(self.names[first.line])
        place = div.attributes.id or self.notes.get(div.line)
        if place:
            box["ids"].append(place)
        box["classes"] += ["box", kind]
        self.fill(box, rest, first.level if first else 1)
        return [box]

    def _tabs(self, div: Div) -> list[nodes.Element]:
        """Return tabs as folded boxes, one below the other: they need no script."""
        boxes: list[nodes.Element] = []
        for block in div.children:
            if isinstance(block, Heading):
                boxes.append(admonition(block.text, folded=True))
                boxes[-1]["ids"].append(self.names[block.line])
                boxes[-1]["classes"] += ["box", "tab"]
            elif boxes:
                self.fill(boxes[-1], [block])
        return boxes


def first_heading(div: Div) -> tuple[Heading | None, list[Block]]:
    """Return a div's own heading, if it starts with one, and the rest of it."""
    if div.children and isinstance(div.children[0], Heading):
        return div.children[0], div.children[1:]
    return None, div.children


def _make_title(kind: str, text: str) -> str:
    """Return a box's title: it begins with the kind's name, such as “Exercise: …”."""
    named = plain(text).casefold().startswith(TITLES[kind].casefold())
    return text if named else f"{TITLES[kind]}: {text}"


def section(name: str, text: str) -> nodes.Element:
    """Return a section with its heading, whose Markdown is `text`."""
    return nodes.section("", title(text), ids=[name])


def admonition(text: str, folded: bool) -> nodes.Element:
    """Return a box with a title; the search does not list it as a heading."""
    heading = title(text)
    heading["classes"].append("no-search")
    made = nodes.admonition("", heading)
    if folded:
        made["collapsible"] = "closed"
    return made


def title(text: str) -> nodes.Element:
    """Return a title with its code marked; links and other marks are taken out."""
    made = nodes.title()
    for at, words in enumerate(re.split(r"`([^`]+)`", text)):
        made += nodes.literal("", words) if at % 2 else nodes.Text(plain(words))
    return made


def raw(html: str) -> nodes.Node:
    """Return HTML as it is."""
    return nodes.raw("", html, format="html")
