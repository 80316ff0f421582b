"""The table of a house's tests/README.md: each important behaviour, its home and its witness."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """A behaviour and the names of its tests, `file::test`, as pytest takes them."""

    behaviour: str
    home: str
    witness: str


def rows(page: Path) -> list[Row]:
    """Return the rows of the page's table: those whose last two cells are names of tests."""
    row = re.compile(r"^\| (.+?) \| `([^`|]+)` \| `([^`|]+)` \|$", re.MULTILINE)
    return [Row(*cells) for cells in row.findall(page.read_text(encoding="utf-8"))]


def missing(page: Path, house: Path) -> list[str]:
    """Return the names in the table that name no test; house: where their paths begin."""
    names = [name for row in rows(page) for name in (row.home, row.witness)]
    return [name for name in names if not _exists(house, name)]


def _exists(house: Path, name: str) -> bool:
    """Whether there is such a test; a name without `::` is that of a notebook, which is one."""
    file, *path = name.split("::")
    if not (house / file).is_file():
        return False
    body = ast.parse((house / file).read_text(encoding="utf-8")).body if path else []
    for step in path:
        found = [each for each in body if getattr(each, "name", "") == step]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True
