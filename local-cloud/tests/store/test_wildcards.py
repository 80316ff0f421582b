"""Patterns with wildcards."""

from __future__ import annotations

import fnmatch
import re

from hypothesis import example, given
from hypothesis import strategies as st

from local_cloud.store.wildcards import matches


@example("*a*b*", "a")
@given(st.text("ab*[?\n", max_size=8), st.text("ab[?\n", max_size=8))
def test_a_star_alone_stands_for_any_letters(pattern: str, text: str) -> None:
    expected = fnmatch.fnmatchcase(text, re.sub(r"([\[?])", r"[\1]", pattern))
    assert matches(text, pattern) == expected


def test_a_pattern_of_many_stars_is_answered_at_once() -> None:
    assert not matches("a" * 5000, "*a" * 30 + "*b")
