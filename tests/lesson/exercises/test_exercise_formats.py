"""The exercises of an episode do not all ask in the same way."""

from __future__ import annotations

import pkgutil
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from lesson import exercises
from lesson.exercises import Exercise

EPISODES = sorted((Path(__file__).parents[3] / "episodes").glob("*.md"))


@pytest.mark.parametrize("path", EPISODES, ids=lambda path: path.stem)
def test_an_episode_asks_for_choices_and_for_something_worked_out(path: Path) -> None:
    """`letter` and `letters` choose or order; any other answer is a number, a text or code."""
    answers = re.findall(r"^exercises\.\w+\.check\((\w+)", path.read_text("utf-8"), re.MULTILINE)
    chosen = {"letter", "letters"} & set(answers)
    assert set(answers) - chosen
    assert chosen or len(set(answers)) > 2


def kinds() -> Counter[str]:
    """How many exercises of all pages are answered in each way."""
    names = [module.name for module in pkgutil.iter_modules(exercises.__path__)]
    modules = [import_module(f"lesson.exercises.{name}") for name in names]
    values = [each for module in modules for each in vars(module).values()]
    return Counter(each.kind for each in values if isinstance(each, Exercise))


def test_a_third_of_all_answers_is_code_or_a_job() -> None:
    counted = kinds()
    assert set(counted) == {"choose", "order", "work out", "write", "send"}
    done, total = counted["write"] + counted["send"], counted.total()
    print(f"{done} of {total} answers are code or a job, {done / total:.0%}: {dict(counted)}")
    assert 3 * done >= total


def test_at_most_a_third_of_all_answers_is_letters() -> None:
    counted = kinds()
    lettered, total = counted["choose"] + counted["order"], counted.total()
    print(f"{lettered} of {total} answers are letters, {lettered / total:.0%}")
    assert 3 * lettered <= total
