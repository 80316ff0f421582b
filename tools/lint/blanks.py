"""Rules on blank lines, without which pandoc and Jupyter read a page differently."""

from __future__ import annotations

from collections.abc import Iterator

from tools.lint.registry import Doc, page_rule
from tools.lint.structure import headings
from tools.lint.tables import QUOTE, tables
from tools.pages.scanner import LIST_MARKER, Code, Div, Prose

Found = Iterator[tuple[int, str]]


@page_rule("blank-line-fence")
def blank_line_fence(doc: Doc) -> Found:
    """Require that a blank line stands on both sides of every fence, of divs and of code blocks."""
    for block, _ in doc.page.walk():
        if isinstance(block, Code) and block.fence:
            sides = [(block.line, -1, "before"), (block.end, 1, "after")]
        elif isinstance(block, Div):
            sides = [
                (line, step, side)
                for line in (block.line, block.end)
                for step, side in ((-1, "before"), (1, "after"))
            ]
        else:
            continue
        for line, step, side in sides:
            if not _blank(doc, line + step):
                yield line, f"there is no blank line {side} this fence; add one"


@page_rule("blank-line-heading")
def blank_line_heading(doc: Doc) -> Found:
    """Require that a blank line stands before every heading."""
    for heading in headings(doc):
        if not _blank(doc, heading.line - 1):
            yield heading.line, "there is no blank line before this heading; add one"


@page_rule("blank-line-list")
def blank_line_list(doc: Doc) -> Found:
    """Require that a blank line stands before every list."""
    for block, _ in doc.page.walk():
        in_list = False
        above = doc.page.lines[block.line - 2] if block.line > 1 else ""
        before = above if above.lstrip().startswith("#") else ""  # a heading; fences have a rule
        lines = block.text.split("\n") if isinstance(block, Prose) else []
        for number, line in enumerate(QUOTE.sub("", line, count=1) for line in lines):
            marker = bool(LIST_MARKER.match(line))
            if marker and not in_list and before.strip():
                yield block.line + number, "there is no blank line before this list; add one"
            if marker or not before.strip():
                in_list = marker or line[:1].isspace()
            before = line


@page_rule("blank-line-table")
def blank_line_table(doc: Doc) -> Found:
    """Require that a blank line stands before every table."""
    for line, above, _ in tables(doc):
        if above:
            yield line, "there is no blank line before this table; add one"


def _blank(doc: Doc, line: int) -> bool:
    """Return whether a line (counted from 1) is blank or outside the page."""
    return not 1 <= line <= len(doc.page.lines) or not doc.page.lines[line - 1].strip()
