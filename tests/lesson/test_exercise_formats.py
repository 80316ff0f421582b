"""The exercises of an episode do not all ask in the same way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

EPISODES = sorted((Path(__file__).parents[2] / "episodes").glob("*.md"))


@pytest.mark.parametrize("path", EPISODES, ids=lambda path: path.stem)
def test_an_episode_asks_for_choices_and_for_something_worked_out(path: Path) -> None:
    """`letter` and `letters` choose or order; any other answer is a number, a text or code."""
    answers = re.findall(r"^exercises\.\w+\.check\((\w+)", path.read_text("utf-8"), re.MULTILINE)
    chosen = {"letter", "letters"} & set(answers)
    assert set(answers) - chosen
    assert chosen or len(set(answers)) > 2
