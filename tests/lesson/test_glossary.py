"""Every term that an episode puts in italics has an entry in the glossary, in order."""

from __future__ import annotations

import re
from pathlib import Path

from tools.scanner import Prose, scan

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "learners" / "reference.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^(\S.*)\n:   ", GLOSSARY, re.MULTILINE)
ITALIC = re.compile(r"(?<![*\w])\*([^*\s](?:[^*]{0,60}[^*\s])?)\*(?![*\w])")
# Words in italics that are no terms: stressed, names of a page's buttons, or letters of a formula.
STRESSED = {
    *("and", "each", "files", "four", "is", "sum", "training", "columns", "rows", "notebook"),
    *("shared", "start", "exchange", "scheduling", "type", "linear", "logarithmic", "p", "s"),
    *("on condition", "reverse logarithmic", "all must save", "not the same folder"),
    *("each tuning trial needs a folder of its own", "graphs", "hparams", "time series"),
    "view tensorboard",
}


def words(text: str) -> set[str]:
    """The words of a term, in the singular."""
    return {word.removesuffix("s") for word in re.findall(r"[\w'-]+", text.casefold())}


def terms() -> set[tuple[str, str]]:
    """The terms in italics, with the page where they stand."""
    found = set()
    for path in sorted((ROOT / "episodes").glob("*.md")):
        for block, _ in scan(path.read_text(encoding="utf-8")).walk():
            if isinstance(block, Prose):
                prose = re.sub(r"`[^`]*`", "", block.text)
                found |= {(path.name, " ".join(term.split())) for term in ITALIC.findall(prose)}
    return found


def test_every_term_in_italics_has_an_entry() -> None:
    entries = [words(entry) for entry in ENTRIES]
    missing = {
        (page, term)
        for page, term in terms()
        if term.casefold() not in STRESSED and not any(words(term) <= entry for entry in entries)
    }
    assert len(terms()) > 80
    assert not missing


def test_entries_are_in_order_and_there_once() -> None:
    keys = [entry.casefold() for entry in ENTRIES]
    assert keys == sorted(set(keys))
