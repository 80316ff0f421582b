"""Every term in italics and every abbreviation of an episode has an entry in the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.pages.scanner import Prose, scan

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "learners" / "reference.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^(?:\[(?=.*\]\{#))?(\S.*?)(?:\]\{#.*\})?\n:   ", GLOSSARY, re.MULTILINE)
ITALIC = re.compile(r"(?<![*\w])\*([^*\s](?:[^*]{0,60}[^*\s])?)\*(?![*\w])")
# Words in italics that are no terms: stressed, names of a page's buttons, or letters of a formula.
STRESSED = {
    "and",
    "each",
    "files",
    "four",
    "is",
    "sum",
    "training",
    "columns",
    "rows",
    "notebook",
    "shared",
    "start",
    "exchange",
    "scheduling",
    "type",
    "linear",
    "logarithmic",
    "p",
    "s",
    "on condition",
    "reverse logarithmic",
    "all workers must save",
    "workers must not share a folder",
    "hparams",
    "text",
    "time series",
    "view tensorboard",
}
ABBREVIATION = re.compile(r"\b[A-Za-z]*[A-Z][A-Za-z]*[A-Z]\w*\b")
# Capitals without an entry: names of products, units, a role, states, and pages of TensorBoard.
NAMES = {
    "AI",
    "JupyterHub",
    "JupyterLab",
    "NumPy",
    "PyTorch",
    "SageMaker",
    "TensorFlow",
    "XGBoost",
    "AmazonSageMakerFullAccess",
    "CSV",
    "GB",
    "MB",
    "HPARAMS",
    "TEXT",
    "TIME",
    "SERIES",
    "QUEUED",
    "PENDING",
    "RUNNING",
    "SUCCEEDED",
    "FAILED",
    "CANCELLING",
    "CANCELLED",
}


def words(text: str) -> set[str]:
    """The words of a term, in the singular."""
    return {word.removesuffix("s") for word in re.findall(r"[\w'-]+", text.casefold())}


def found(pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    """Each match of a pattern in an episode's prose, with the page where it stands."""
    matches = set()
    for path in sorted((ROOT / "episodes").glob("*.md")):
        for block, _ in scan(path.read_text(encoding="utf-8")).walk():
            if isinstance(block, Prose):
                prose = re.sub(r"`[^`]*`|\]\([^)]*\)|\]\[[^]]*\]", " ", block.text)
                matches |= {(path.name, " ".join(each.split())) for each in pattern.findall(prose)}
    return matches


def test_every_term_in_italics_has_an_entry() -> None:
    entries, terms = [words(entry) for entry in ENTRIES], found(ITALIC)
    missing = {
        (page, term)
        for page, term in terms
        if term.casefold() not in STRESSED and not any(words(term) <= entry for entry in entries)
    }
    assert len(terms) > 80
    assert not missing


def test_every_abbreviation_has_an_entry() -> None:
    entries, abbreviations = words(" ".join(ENTRIES)), found(ABBREVIATION)
    missing = {
        (page, each)
        for page, each in abbreviations
        if each not in NAMES and not words(each) <= entries
    }
    assert len(abbreviations) > 80
    assert not missing


@pytest.mark.parametrize("term", ["Adam", "ARN", "IAM", "rank", "Region", "ReLU", "SDK", "URI"])
def test_a_term_that_many_pages_use_without_italics_has_an_entry(term: str) -> None:
    assert term.casefold() in {entry.casefold() for entry in ENTRIES}


def test_entries_are_in_order_and_there_once() -> None:
    keys = [entry.casefold() for entry in ENTRIES]
    assert keys == sorted(set(keys))
