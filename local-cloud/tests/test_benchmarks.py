"""`make bench` writes each section into its place on the page, and no other."""

import argparse

import pytest

from benchmarks.__main__ import README, SECTIONS
from testing.measure import take_turns
from testing.sections import choose, replace


def test_a_section_is_replaced_and_the_rest_of_the_page_stays() -> None:
    page = README.read_text(encoding="utf-8")
    for name in SECTIONS:
        changed = replace(page, name, "### New\n")
        before, after = changed.split("\n\n### New\n\n")
        assert page.startswith(before) and page.endswith(after)
        assert replace(changed, name, "### New\n") == changed


def test_sections_are_chosen_by_name_in_the_order_of_the_page() -> None:
    page = README.read_text(encoding="utf-8")
    places = [page.index(f"<!-- section {name},") for name in SECTIONS]
    assert places == sorted(places)
    assert choose(SECTIONS, "buckets,jobs") == ["jobs", "buckets"]
    with pytest.raises(argparse.ArgumentTypeError, match="no nonsense in jobs, studies"):
        choose(SECTIONS, "nonsense")


def test_what_is_compared_takes_turns_and_the_first_round_does_not_count() -> None:
    calls: list[str] = []

    def measure(name: str) -> int:
        calls.append(name)
        return len(calls)

    taken = take_turns({"a": lambda: measure("a"), "b": lambda: measure("b")}, 2)
    assert calls == ["a", "b"] * 3
    assert taken == {"a": [3, 5], "b": [4, 6]}
