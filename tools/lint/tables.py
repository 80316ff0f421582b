"""Rules on tables, which each tool cuts into cells in its own way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, takewhile

from tools.lint.registry import Doc, page_rule
from tools.pages.links import blank_code
from tools.pages.scanner import Prose

_DASHES = re.compile(r"(?=.*\|)\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
QUOTE = re.compile(r"^(?:\s*>)+\s?")  # the marks of a quotation
Found = Iterator[tuple[int, str]]


def tables(doc: Doc) -> Iterator[tuple[int, str, list[str]]]:
    """Yield each table: its first line, what stands on the line above it, and its rows."""
    for block, _ in doc.page.walk():
        text = block.text if isinstance(block, Prose) else ""
        lines = [QUOTE.sub("", line, count=1).strip() for line in text.split("\n")]
        for at, (header, dashes) in enumerate(pairwise(lines)):
            if "|" in header and _DASHES.fullmatch(dashes):
                rows = list(takewhile(bool, lines[at:]))
                yield block.line + at, lines[at - 1] if at else "", rows


@page_rule("table-cells")
def table_cells(doc: Doc) -> Found:
    """Require that every row of a table has as many cells as its header, and no `|` in code."""
    for first, _, rows in tables(doc):
        wanted = _cells(rows[0])
        for line, row in enumerate(rows, first):
            if blank_code(row).count("|") < row.count("|"):
                yield line, "`|` in code ends the cell for some tools; write it in words"
            elif _cells(row) != wanted:
                yield line, f"this row has {_cells(row)} cells, not {wanted}; fix it"


@page_rule("table-headers")
def table_headers(doc: Doc) -> Found:
    """Require that every column has a header, which a screen reader says with each of its cells."""
    for line, _, rows in tables(doc):
        if not all(map(str.strip, re.split(r"(?<!\\)\|", rows[0].strip("|")))):
            yield line, "a column of this table has no header; name what is in it"


def _cells(row: str) -> int:
    """Return how many cells a row has; `\\|` ends none."""
    return len(re.findall(r"(?<!\\)\|", row.removeprefix("|").removesuffix("|"))) + 1
