"""Every check() of episodes 06 and 07 rejects the blank and typical wrong answers."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from AWS_helpers import helpers
from AWS_helpers.costs import estimate_cost
from lesson.exercises import UNANSWERED, Exercise, s3_data, sagemaker_first_job

EPISODES = Path(__file__).parents[2] / "episodes"
PAGES = {s3_data: "06-s3-data.md", sagemaker_first_job: "07-sagemaker-first-job.md"}
ALL = [
    pytest.param(module, name, id=f"{module.__name__.rpartition('.')[2]}.{name}")
    for module in PAGES
    for name, value in vars(module).items()
    if isinstance(value, Exercise)
]

VAL = "s3://lesson/data/val_data.npz"
ML = "/opt/ml/input/data"
LOG = [
    "569 rows, 7 features, 2625 weights, 1 steps an epoch, on cpu",
    "epoch     1  loss 0.6884  validation loss 0.6799  accuracy 0.6224  0.0 s",
    "epoch   268  loss 0.3531  validation loss 0.3905  accuracy 0.8462  0.4 s",
    "validation:accuracy = 0.8462",
    "validation:loss = 0.3863",
]
CONTEXT: dict[str, tuple[Any, ...]] = {"channel": (VAL,), "loss_regex": (LOG,)}

# exercise -> (right answers, wrong answers and a word of what is said about each)
ANSWERS: dict[ModuleType, dict[str, tuple[list[Any], list[tuple[Any, str]]]]] = {
    s3_data: {
        "leak": (
            ["BD", "DB", "b, d"],
            [
                ("BDE", "the split itself"),
                ("AB", "computes nothing"),
                ("CD", "computes nothing"),
                ("B", "done to X"),
                ("D", "a gap's filling"),
                ("XY", "two lines"),
            ],
        ),
        "claims": (
            ["BD", "d b"],
            [
                ("ABD", "savez_compressed"),
                ("BCD", "no effect"),
                ("BDE", "rows in memory"),
                ("B", "one more"),
                ("all", "true statements"),
            ],
        ),
        "lines": (
            ["DEAC", "d, e, a, c"],
            [
                ("DEBC", "knows no s3://"),
                ("DEA", "four"),
                ("EDAC", "a client"),
                ("DAEC", "has been sent"),
                ("DECA", "there is none yet"),
            ],
        ),
        "prefix": (
            [3, 3.0],
            [(1, "one of them"), (2, "slash"), (4, "does not begin"), (0, "count the keys")],
        ),
        "price": (
            [10 * 40 * 12 * helpers.GB_MONTH, 110],
            [
                (10 * 40 * helpers.GB_MONTH, "one month"),
                (40 * 12 * helpers.GB_MONTH, "one version"),
                (40 * helpers.GB_MONTH, "for one month"),
                (40, "ten versions"),
            ],
        ),
        "channel": (
            [f"{ML}/val/val_data.npz"],
            [
                (VAL, "copies it from"),
                (f"{ML}/val_data.npz", "a folder of its own"),
                (f"{ML}/data/val_data.npz", "stays behind"),
                (f"{ML}/val/data/val_data.npz", "stays behind"),
                (f"{ML}/train/val_data.npz", "the other channel"),
                (f"{ML}/val", "has a name"),
                ("runs/data/val_data.npz", "two columns"),
            ],
        ),
    },
    sagemaker_first_job: {
        "price": (
            [estimate_cost("ml.m5.large", hours=100 * 135 / 3600).usd, 0.43],
            [
                (estimate_cost("ml.m5.large", hours=100 * 197.62 / 3600).usd, "waited"),
                (estimate_cost("ml.m5.large", hours=135 / 3600).usd, "one of the hundred"),
                (estimate_cost("ml.m5.large", hours=100).usd, "hundred hours"),
                (5, "135 billed seconds"),
            ],
        ),
        "arrival": (["A", "a."], [("B", "underscore"), ("C", "there is such a file")]),
        "loss_regex": (
            [
                r"validation:loss = ([0-9.]+)",
                r"validation:loss = (.*)",
                r"loss = (\d+\.\d+)",
                r"^validation:loss\s*=\s*(\S+)$",
            ],
            [
                (r"validation:loss = [0-9.]+", "parentheses"),
                (r"validation:loss: ([0-9.]+)", "nothing in the log"),
                (r"loss ([0-9.]+)", "the epochs"),
                (r"validation loss ([0-9.]+)", "the epochs"),
                (r"validation:accuracy = ([0-9.]+)", "another number"),
                (r"(validation:loss) = [0-9.]+", "no number"),
                (r"validation:loss = ([0-9.]+", "no regular expression"),
            ],
        ),
        "limit": (["C"], [("A", "keeps it"), ("B", "from outside")]),
        "mended": (
            [
                f"{ML}/training/train_data.npz",
                f"--train={ML}/training/train_data.npz",
                f"train={ML}/training/train_data.npz",
            ],
            [
                (f"{ML}/train/train_data.npz", "was told"),
                ("s3://lesson/data/train_data.npz", "has copied"),
                (f"{ML}/training/", "which file"),
                ("runs/data/train_data.npz", "on this machine"),
                (f"{ML}/train_data.npz", "which channels"),
            ],
        ),
        "billed": (["B"], [("A", "a second or so"), ("C", "not billed")]),
    },
}


def said(capsys: pytest.CaptureFixture[str], module: ModuleType, name: str, answer: Any) -> str:
    capsys.readouterr()
    vars(module)[name].check(answer, *CONTEXT.get(name, ()))
    return capsys.readouterr().out.rstrip("\n")


@pytest.mark.parametrize(("module", "name"), ALL)
def test_the_blank_is_not_an_answer(
    module: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, module, name, None) == said(capsys, module, name, ...) == UNANSWERED


@pytest.mark.parametrize(("module", "name"), ALL)
def test_right_answers_are_accepted_and_wrong_ones_told_why(
    module: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = ANSWERS[module][name]
    for answer in right:
        assert said(capsys, module, name, answer) == f"Right. {vars(module)[name].praise}", answer
    for answer, word in wrong:
        verdict = said(capsys, module, name, answer)
        assert verdict.startswith("Not yet: ") and word in verdict, answer


@pytest.mark.parametrize(("module", "name"), ALL)
@pytest.mark.parametrize(
    "answer", [True, [], {}, object(), float("nan"), "", -7, 10**400], ids=lambda it: str(it)[:9]
)
def test_no_answer_makes_a_check_fail(
    module: ModuleType, name: str, answer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, module, name, answer).startswith("Not yet: ")


@pytest.mark.parametrize(("module", "name"), ALL)
def test_hints_help_without_telling(
    module: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    vars(module)[name].hint()
    hint = capsys.readouterr().out
    assert hint.startswith("Hint: ") and len(hint) > 40
    words = re.findall(r"[\w./:-]+", hint)
    assert not {str(answer).strip() for answer in ANSWERS[module][name][0]} & set(words)


@pytest.mark.parametrize("module", PAGES)
def test_every_exercise_is_in_its_episode_with_a_blank_and_a_solution(module: ModuleType) -> None:
    text = (EPISODES / PAGES[module]).read_text(encoding="utf-8")
    used = re.findall(r"^exercises\.(\w+)\.check\(", text, re.MULTILINE)
    names = [name for name, value in vars(module).items() if isinstance(value, Exercise)]
    assert {name: used.count(name) for name in names} == dict.fromkeys(names, 2)


def test_the_exercises_reckon_with_the_prices_of_the_helpers() -> None:
    assert s3_data.GB_MONTH == helpers.GB_MONTH
    assert estimate_cost("ml.m5.large").usd_per_hour == sagemaker_first_job.HOURLY


def test_the_page_quotes_what_was_measured() -> None:
    text = (EPISODES / PAGES[sagemaker_first_job]).read_text(encoding="utf-8")
    for seconds in (sagemaker_first_job.WAITED, sagemaker_first_job.BILLED):
        assert f"{seconds} seconds" in text
