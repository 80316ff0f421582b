"""Every check() of episodes 06 and 07 rejects the blank and typical wrong answers."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from AWS_helpers import helpers
from AWS_helpers.costs import estimate_cost
from lesson.exercises import s3_data, sagemaker_first_job
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules

PAGE = Path(__file__).parents[2] / "episodes" / "07-sagemaker-first-job.md"
VAL = "s3://lesson/data/val_data.npz"
ML = "/opt/ml/input/data"
LOG = [
    "569 rows, 7 features, 2625 weights, 1 step an epoch, on cpu",
    "epoch     1  loss 0.6884  validation loss 0.6799  accuracy 0.6224  0.0 s",
    "epoch   268  loss 0.3531  validation loss 0.3905  accuracy 0.8462  0.4 s",
    "validation:accuracy = 0.8462",
    "validation:loss = 0.3863",
]
DATA_ANSWERS: Answers = {
    "leak": (
        ["BD", "DB", "b, d"],
        [
            ("BDE", "the split itself"),
            ("AB", "computes nothing"),
            ("CD", "computes nothing"),
            ("B", "done to X"),
            ("D", "a gap's filling"),
            ("XY", "from A to E"),
        ],
    ),
    "claims": (
        ["BD", "d b"],
        [
            ("ABD", "savez_compressed"),
            ("BCD", "no effect"),
            ("BDE", "rows in memory"),
            ("B", "one more"),
            ("all", "from A to E"),
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
}

FIRST_JOB_ANSWERS: Answers = {
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
            (r"validation:loss = ([0-9.]+)+!", "for ever"),
            (r"((\w| )+)*!", "for ever"),
        ],
    ),
    "limit": (["C"], [("A", "keeps it"), ("B", "from outside")]),
    "fixed": (
        [
            f"{ML}/training/train_data.npz",
            f"--train={ML}/training/train_data.npz",
            f"train={ML}/training/train_data.npz",
            f"--train {ML}/training/train_data.npz",
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
}


class TestData(ExerciseRules):
    page = "06-s3-data.md"
    module = s3_data
    answers = DATA_ANSWERS
    context: ClassVar[Context] = {"channel": (VAL,)}


class TestFirstJob(ExerciseRules):
    page = "07-sagemaker-first-job.md"
    module = sagemaker_first_job
    answers = FIRST_JOB_ANSWERS
    context: ClassVar[Context] = {"loss_regex": (LOG,)}


def test_the_exercises_calculate_with_the_prices_of_the_helpers() -> None:
    assert s3_data.GB_MONTH == helpers.GB_MONTH
    assert estimate_cost("ml.m5.large").usd_per_hour == sagemaker_first_job.HOURLY


def test_the_page_quotes_what_was_measured() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for seconds in (sagemaker_first_job.WAITED, sagemaker_first_job.BILLED):
        assert f"{seconds} seconds" in text
