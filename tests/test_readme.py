"""README.md names the tests of the most important behaviours, and each of them exists."""

from __future__ import annotations

from pathlib import Path

from testing.table import missing, rows

PAGE = Path(__file__).with_name("README.md")


def test_each_home_and_each_witness_is_a_test() -> None:
    assert len(rows(PAGE)) >= 20
    assert missing(PAGE, PAGE.parents[1]) == []
