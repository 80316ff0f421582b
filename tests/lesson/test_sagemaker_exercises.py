"""Every check() of episode 08 rejects the blank and typical wrong answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from AWS_helpers.costs import estimate_cost
from lesson.exercises import UNANSWERED, Exercise
from lesson.exercises import sagemaker_gpu_instances as exercises

PAGE = Path(__file__).parents[2] / "episodes" / "08-sagemaker-gpu-instances.md"
ALL = {name: value for name, value in vars(exercises).items() if isinstance(value, Exercise)}
HOUR = estimate_cost("ml.m5.xlarge").usd

# exercise -> (right answers, wrong answers and a word of what is said about each)
ANSWERS: dict[str, tuple[list[Any], list[tuple[Any, str]]]] = {
    "enabled": (["B", "b."], [("A", "moves nothing"), ("C", "only one"), ("D", "A, B, C")]),
    "bill": (
        [estimate_cost("ml.m5.xlarge", hours=228 / 3600).usd, 0.0146],
        [
            (estimate_cost("ml.m5.xlarge", replicas=2, hours=228 / 3600).usd, "already"),
            (HOUR * 198.36 / 3600, "other column"),
            (HOUR * 2 * 198.36 / 3600, "other column"),
            (HOUR * 114 / 3600, "one of the two"),
            (HOUR * 228, "seconds"),
            (HOUR, "as hours"),
        ],
    ),
    "two_logs": (["C"], [("A", "split the rows"), ("B", "an exchange")]),
    "exchange": (
        ["CBDA", "c b d a", "C, B, D, A"],
        [
            ("CBAD", "copies differ"),
            ("CDBA", "no gradients"),
            ("BCDA", "there first"),
            ("DACB", "uses a gradient"),
            ("CEBA", "a number to read"),
            ("CBDAE", "a number to read"),
            ("CBA", "four of the five"),
            ("CBDD", "once"),
            ("backward, step", "from A to E"),
        ],
    ),
    "proof": (["C"], [("A", "all their epochs"), ("B", "billed"), ("D", "side by side")]),
    "steps": (
        [5, 5.0],
        [(9, "alone"), (4, "left over"), (18, "together"), (10, "together"), (2, "batches of 64")],
    ),
}


def said(capsys: pytest.CaptureFixture[str], name: str, answer: Any) -> str:
    capsys.readouterr()
    ALL[name].check(answer)
    return capsys.readouterr().out.rstrip("\n")


@pytest.mark.parametrize("name", ALL)
def test_the_blank_is_not_an_answer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, name, None) == said(capsys, name, ...) == UNANSWERED


@pytest.mark.parametrize("name", ALL)
def test_right_answers_are_accepted_and_wrong_ones_told_why(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = ANSWERS[name]
    for answer in right:
        assert said(capsys, name, answer) == f"Right. {ALL[name].praise}"
    for answer, word in wrong:
        verdict = said(capsys, name, answer)
        assert verdict.startswith("Not yet: ") and word in verdict, answer


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "answer", [True, [], {}, object(), float("nan"), "", -7, 10**400], ids=lambda it: str(it)[:9]
)
def test_no_answer_makes_a_check_fail(
    name: str, answer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, name, answer).startswith("Not yet: ")


@pytest.mark.parametrize("name", ALL)
def test_hints_help_without_telling(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ALL[name].hint()
    hint = capsys.readouterr().out
    assert hint.startswith("Hint: ") and len(hint) > 40
    assert not {str(answer) for answer in ANSWERS[name][0]} & set(re.findall(r"[\w.]+", hint))


def test_every_exercise_is_on_the_page_with_a_blank_and_a_solution() -> None:
    used = re.findall(r"^exercises\.(\w+)\.check\(", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: used.count(name) for name in ALL} == dict.fromkeys(ALL, 2)


def test_the_exercises_reckon_with_the_price_of_the_helpers() -> None:
    assert exercises.HOURLY == HOUR


def test_the_page_quotes_what_was_measured() -> None:
    row = f"| 2 × `ml.m5.xlarge` | {exercises.WAITED} s | {exercises.BILLED} s |"
    assert row in PAGE.read_text(encoding="utf-8")
