"""The times of the set-up and of the tests are the same on every page."""

from __future__ import annotations

import re

import pytest

from lesson import ROOT
from tools import times


def test_the_times_on_the_pages_are_those_of_one_file() -> None:
    for name, figures in times.PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert times.with_figures(text) == text, f"run `make notebooks`: {name}"
        for sentence, figure in times.QUOTES.items():
            said = re.search(times.words(sentence.replace("{}", figure)), text)
            assert bool(said) == (figure in figures), f"{name}: {sentence}"


def test_a_changed_time_reaches_a_page_whatever_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(times.QUOTES, "It takes about {} on two cores.", "five minutes")
    told = times.with_figures("`make test`. It takes about\nthirteen minutes on\ntwo cores. More")
    assert told == "`make test`. It takes about\nfive minutes on\ntwo cores. More"


def test_no_other_page_has_times_of_the_set_up_or_of_the_tests() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("local-cloud/docs/*.md")]
    setup = r"packages (?:are|were|already) in (?:uv's|the) cache"
    tests = r"takes? about [\w-]+ minutes on two cores"
    quoting = {
        page.relative_to(ROOT).as_posix()
        for page in pages
        if re.search(f"{setup}|{tests}", " ".join(page.read_text(encoding="utf-8").split()))
    }
    assert quoting == set(times.PAGES)
