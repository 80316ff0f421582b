"""Each objective of an episode names the exercises that assess it, and each exercise is named.

The names stand in a comment behind the objective, `<!-- missing, order -->`, which no learner sees.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.pages.folder import read_page
from tools.pages.pace import split
from tools.pages.scanner import Code, walk

PAGES = sorted((Path(__file__).parents[2] / "episodes").glob("[0-9]*.md"))
OBJECTIVES = re.compile(r"^:+ objectives\n(.*?)^:+$", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"^- (.*?)(?=^- |\Z)", re.MULTILINE | re.DOTALL)
ASSESSED_BY = re.compile(r"<!-- (\w+(?:, \w+)*) -->\s*\Z")
CHECKED = re.compile(r"^exercises\.(\w+)\.check\(", re.MULTILINE)


def assessed(text: str) -> dict[str, list[str]]:
    """The objectives of a page, each with the exercises that it names."""
    (listed,) = OBJECTIVES.findall(text)
    objectives = {}
    for item in ITEM.findall(listed):
        named = ASSESSED_BY.search(item)
        objectives[" ".join(item.split())] = named[1].split(", ") if named else []
    return objectives


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_objective_is_assessed_and_every_exercise_assesses_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    objectives = assessed(text)
    assert len(objectives) >= 3
    assert [item for item, names in objectives.items() if not names] == []
    assert {name for names in objectives.values() for name in names} == set(CHECKED.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_objective_that_only_optional_sections_assess_says_so(page: Path) -> None:
    core, _ = split(read_page(page).blocks)
    taught = {
        name
        for block, _ in walk(core)
        if isinstance(block, Code)
        for name in CHECKED.findall(block.text)
    }
    for item, names in assessed(page.read_text(encoding="utf-8")).items():
        assert ("(optional)" in item) == (not taught & set(names)), item


def test_what_an_objective_names_is_read_from_its_end() -> None:
    page = "::: objectives\n\n- Count\n  things. <!-- a, b -->\n- Add.\n\n:::\n"
    assert list(assessed(page).values()) == [["a", "b"], []]
