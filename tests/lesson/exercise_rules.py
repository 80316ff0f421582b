"""What the exercises of every page keep; a page's own test names its module and the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from lesson.exercises import UNANSWERED, Exercise

EPISODES = Path(__file__).parents[2] / "episodes"
NO_ANSWERS = (True, [], {}, object(), float("nan"), "", -7, 10**400)
# exercise -> (right answers, wrong answers and a word of what is said about each)
Answers = Mapping[str, tuple[list[Any], list[tuple[Any, str]]]]


class ExerciseRules:
    """To be inherited by a class `TestExercises`."""

    page: ClassVar[str]
    module: ClassVar[ModuleType]
    answers: ClassVar[Answers]

    @property
    def exercises(self) -> dict[str, Exercise[Any]]:
        """The page's exercises by name."""
        found = vars(self.module).items()
        return {name: value for name, value in found if isinstance(value, Exercise)}

    @pytest.fixture(autouse=True)
    def _listen(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def said(self, name: str, answer: Any) -> str:
        """What check() prints."""
        self.capsys.readouterr()
        self.exercises[name].check(answer)
        return self.capsys.readouterr().out.rstrip("\n")

    def test_the_blank_is_not_an_answer(self) -> None:
        for name in self.exercises:
            assert self.said(name, None) == self.said(name, ...) == UNANSWERED

    def test_right_answers_are_accepted_and_wrong_ones_told_why(self) -> None:
        assert self.answers.keys() == self.exercises.keys()
        for name, (right, wrong) in self.answers.items():
            for answer in right:
                assert self.said(name, answer) == f"Right. {self.exercises[name].praise}", answer
            for answer, word in wrong:
                verdict = self.said(name, answer)
                assert verdict.startswith("Not yet: ") and word in verdict, (name, answer, verdict)

    def test_no_answer_makes_a_check_fail(self) -> None:
        for name in self.exercises:
            for answer in NO_ANSWERS:
                assert self.said(name, answer).startswith("Not yet: "), (name, answer)

    def test_hints_help_without_telling(self) -> None:
        for name, exercise in self.exercises.items():
            exercise.hint()
            hint = self.capsys.readouterr().out
            assert hint.startswith("Hint: ") and len(hint) > 40
            right = {str(answer) for answer in self.answers[name][0]}
            assert not right & set(re.findall(r"[\w.]+", hint)), name

    def test_every_exercise_is_on_the_page_with_a_blank_and_a_solution(self) -> None:
        text = (EPISODES / self.page).read_text(encoding="utf-8")
        used = re.findall(r"^exercises\.(\w+)\.check\(", text, re.MULTILINE)
        assert {name: used.count(name) for name in self.exercises} == dict.fromkeys(
            self.exercises, 2
        )
