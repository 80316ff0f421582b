"""Every check() rejects the blank and a typical wrong answer, and accepts the solution."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lesson import this_machine
from lesson.exercises import UNANSWERED, Exercise
from lesson.exercises import train_locally as exercises
from lesson.preparation import prepare, read_passengers, split
from lesson.runs import Run

ROOT = Path(__file__).parents[2]
EPISODE = ROOT / "episodes" / "02-train-locally.md"
ALL = {name: value for name, value in vars(exercises).items() if isinstance(value, Exercise)}
TRAIN, VAL = split(read_passengers(exercises.CSV))

# exercise -> (right answers, wrong answers and a word of what is said about each)
ANSWERS: dict[str, tuple[list[Any], list[tuple[Any, str]]]] = {
    "guess": (
        [0.622, 1 - VAL["Survived"].mean()],
        [
            (0.378, "survived"),
            (0.5, "coin"),
            (0.614, "of val_part"),  # that is the share of all 712
            (62.2, "between 0 and 1"),
            (0.7, "divide by all"),
            (VAL, "not DataFrame"),
            ("0.622", "a number"),
        ],
    ),
    "fare_for_gaps": (
        [TRAIN["Fare"].median(), 13.8292],
        [
            (read_passengers(exercises.CSV)["Fare"].median(), "has a say"),
            (VAL["Fare"].median(), "has a say"),
            (TRAIN["Fare"].mean(), "over which rows"),
        ],
    ),
    "steps": (
        [9, 9.0, np.int64(9)],
        [(8, "512 rows"), (1, "64 rows"), (569, "64 rows"), (7, "divide"), (8.9, "whole number")],
    ),
    "flag": (
        ["--learning_rate", " --learning_rate=0.01", "--learning_rate 0.01"],
        [
            ("--learningrate", "ignored"),
            ("learning_rate", "two dashes"),
            ("--lr", "--help"),
            (0.01, "a text in quotes"),
        ],
    ),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    data = prepare(exercises.CSV, folder)
    return this_machine.train({"train": data.train, "val": data.val}, folder)


def said(capsys: pytest.CaptureFixture[str], name: str, *answer: Any) -> str:
    capsys.readouterr()
    ALL[name].check(*answer)
    return capsys.readouterr().out.rstrip("\n")


@pytest.mark.parametrize("name", ALL)
def test_the_blank_is_not_an_answer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, name, None) == said(capsys, name, ...) == UNANSWERED


@pytest.mark.parametrize("name", ANSWERS)
def test_right_answers_are_accepted_and_wrong_ones_told_why(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = ANSWERS[name]
    for answer in right:
        assert said(capsys, name, answer) == f"Right. {ALL[name].praise}"
    for answer, word in wrong:
        verdict = said(capsys, name, answer)
        assert verdict.startswith("Not yet: ") and word in verdict


def test_the_best_epoch_is_that_of_the_lowest_validation_loss(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    best, last = run.metrics["epochs"]["best"], run.metrics["epochs"]["last"]
    assert said(capsys, "best_epoch", best, run).startswith("Right.")
    assert "rows that the model has seen" in said(capsys, "best_epoch", last, run)
    assert "counts from 0" in said(capsys, "best_epoch", best - 1, run)
    assert "the dashed line" in said(capsys, "best_epoch", 1, run)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "answer", [True, [], {}, object(), float("nan"), "", -1, 10**400], ids=lambda it: str(it)[:9]
)
def test_no_answer_makes_a_check_fail(
    name: str, answer: Any, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    context = (run,) if name == "best_epoch" else ()
    assert said(capsys, name, answer, *context).startswith("Not yet: ")


def test_a_check_that_is_called_in_another_way_says_so(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "guess", 0.5, run).startswith("Not yet: call check() as")
    assert said(capsys, "best_epoch", 5).startswith("Not yet: call check() as")
    assert said(capsys, "best_epoch", 5, None).startswith("Not yet: hand the run")
    gone = dataclasses.replace(run, artefacts="gone")
    assert "train again" in said(capsys, "best_epoch", 5, gone)
    assert said(capsys, "guess") == UNANSWERED


@pytest.mark.parametrize("name", ALL)
def test_hints_help_without_telling(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ALL[name].hint()
    hint = capsys.readouterr().out
    assert hint.startswith("Hint: ") and len(hint) > 40
    words = re.findall(r"[\w.-]+", hint)
    assert not {str(answer).strip() for answer in ANSWERS.get(name, ([], []))[0]} & set(words)


def test_every_exercise_is_in_the_episode_with_a_blank_and_a_solution() -> None:
    used = re.findall(r"^exercises\.(\w+)\.check\(", EPISODE.read_text(), re.MULTILINE)
    assert {name: used.count(name) for name in ALL} == dict.fromkeys(ALL, 2)
