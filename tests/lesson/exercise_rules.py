"""What the exercises of every page keep; a page's own test names its module and the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from lesson.exercises import UNANSWERED, Exercise
from tools.pages.scanner import Code, Div, scan, walk

EPISODES = Path(__file__).parents[2] / "episodes"
NO_ANSWERS = (
    True,
    np.True_,
    [],
    {},
    set(),
    [None, 2],
    object(),
    str,
    "",
    "  ",
    "None",
    "no idea",
    b"A",
    float("nan"),
    float("inf"),
    -7,
    10**400,
    10**5000,
    "1e999",
    "1/0",
    "7 apples",
    1j,
    np.array([1, 2]),
    np.array([]),
    torch.zeros(2),
    Path(__file__),
    "x" * 5000,
    "\0",
)
# exercise -> (right answers, wrong answers and a word of what is said about each)
Answers = Mapping[str, tuple[list[Any], list[tuple[Any, str]]]]
Context = Mapping[str, tuple[Any, ...]]  # what the cell hands to check() as well
CHALLENGE = re.compile(r"^:+ challenge\n(.*?)^:+ solution\n", re.MULTILINE | re.DOTALL)


class ExerciseRules:
    """To be inherited by a class whose name begins with `Test`."""

    page: ClassVar[str]
    module: ClassVar[ModuleType]
    answers: ClassVar[Answers]
    context: ClassVar[Context] = {}

    @property
    def exercises(self) -> dict[str, Exercise]:
        """The page's exercises by name."""
        names = vars(self.module).items()
        return {name: value for name, value in names if isinstance(value, Exercise)}

    @pytest.fixture(autouse=True)
    def _listen(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def said(self, name: str, answer: Any, *context: Any) -> str:
        """What check() prints."""
        self.capsys.readouterr()
        self.exercises[name].check(answer, *(context or self.context.get(name, ())))
        return self.capsys.readouterr().out.rstrip("\n")

    def test_the_blank_is_not_an_answer(self) -> None:
        for name in self.exercises:
            assert self.said(name, None) == self.said(name, ...) == UNANSWERED

    def test_right_answers_are_accepted_and_wrong_ones_told_why(self) -> None:
        assert self.answers.keys() == self.exercises.keys()
        for name, (right, wrong) in self.answers.items():
            assert len(wrong) >= 2
            for answer in right:
                verdict = self.said(name, answer)
                assert verdict == f"Correct. {self.exercises[name].praise}", (name, answer, verdict)
            for answer, word in wrong:
                verdict = self.said(name, answer)
                assert verdict.startswith("Not yet: ") and word in verdict, (name, answer, verdict)

    def test_a_number_eight_percent_off_is_not_right(self) -> None:
        """A check that allows for rounding, or for a value read off a picture, allows for less."""
        for name, (right, _) in self.answers.items():
            numbers = [each for each in right if isinstance(each, int | float) and each > 0]
            others = (0.92 * min(numbers), 1.08 * max(numbers)) if numbers else ()
            for other in others:
                verdict = self.said(name, other)
                assert verdict.startswith("Not yet: "), (name, numbers, other, verdict)

    def test_another_way_of_writing_is_no_other_answer(self) -> None:
        for name, (right, wrong) in self.answers.items():
            for answer in [*right, *(each for each, _ in wrong)]:
                accepted = self.said(name, answer)[:5]
                if isinstance(answer, str):
                    others: list[Any] = [f" {answer}\n"]
                    if set(answer) <= set("ABCDEFMN"):
                        others += [answer.lower(), ", ".join(answer), f'"{answer}"', list(answer)]
                        others += [" and ".join(answer), " > ".join(answer), f"({answer})"]
                elif isinstance(answer, int | float):
                    others = [str(answer), np.float64(answer), f"{100 * answer} %", f"{answer}/1"]
                    if unit := self.exercises[name].unit:
                        others += [f"{answer} {unit}", f"{answer} {unit[:-1].upper()}"]
                    others += [f"{answer:,}", f"{answer}".replace(".", ",")]
                else:
                    continue
                for other in others:
                    assert self.said(name, other)[:5] == accepted, (name, answer, other)

    def test_no_answer_makes_a_check_fail(self) -> None:
        for name in self.exercises:
            for answer in NO_ANSWERS:
                assert self.said(name, answer).startswith("Not yet: "), (name, str(answer)[:9])

    def test_another_context_does_not_make_a_check_fail(self) -> None:
        for name in self.context:
            for other in (None, 1, "text", [], [1], {}, Path("nowhere")):
                for answer in (*self.answers[name][0], "A", 1):
                    assert self.said(name, answer, other).startswith("Not yet: "), (name, other)
            self.capsys.readouterr()
            self.exercises[name].check(self.answers[name][0][0])
            assert self.capsys.readouterr().out.startswith("Not yet: call check() as")

    def test_the_example_of_an_answer_is_not_the_answer(self) -> None:
        text = (EPISODES / self.page).read_text(encoding="utf-8")
        for challenge in CHALLENGE.findall(text):
            (name,) = re.findall(r"^exercises\.(\w+)\.check\(", challenge, re.MULTILINE)
            for example in re.findall(r'(?:as\s+in|such\s+as)\s+`"(\w+)"`', challenge):
                assert self.said(name, example).startswith("Not yet: "), name

    def test_hints_help_without_telling(self) -> None:
        for name, exercise in self.exercises.items():
            exercise.hint()
            hint = self.capsys.readouterr().out
            assert hint.startswith("Hint: ") and len(hint) > 40
            right = {str(answer).strip() for answer in self.answers[name][0]}
            assert not right & set(re.findall(r"[\w./:-]+", hint)), name

    def test_the_solution_is_the_pages_own(self) -> None:
        """As the notebooks' scanner reads it, which the lesson's own packages do not import."""
        page = scan((EPISODES / self.page).read_text(encoding="utf-8"))
        shown = {}
        for name, exercise in self.exercises.items():
            exercise.solution()
            shown[name] = self.capsys.readouterr().out
        for div, _ in page.walk():
            if isinstance(div, Div) and "solution" in div.classes:
                codes = [block.text for block, _ in walk(div.children) if isinstance(block, Code)]
                named = re.findall(r"^exercises\.(\w+)\.check\(", "\n".join(codes), re.MULTILINE)
                assert named
                for text in codes:
                    assert text.strip("\n") in shown[named[0]]
                named_last = shown.pop(named[0])
                assert named_last.startswith("### Solution") and ":::" not in named_last
        assert not shown

    def test_every_exercise_is_on_the_page_with_a_blank_and_a_solution(self) -> None:
        text = (EPISODES / self.page).read_text(encoding="utf-8")
        used = re.findall(r"^exercises\.(\w+)\.check\(", text, re.MULTILINE)
        assert {name: used.count(name) for name in self.exercises} == dict.fromkeys(
            self.exercises, 2
        )
        for challenge in CHALLENGE.findall(text):
            (name,) = re.findall(r"^exercises\.(\w+)\.check\(", challenge, re.MULTILINE)
            assert f"`exercises.{name}.hint()`" in challenge
