"""Every check() of episode 08 rejects the blank and typical wrong answers."""

from __future__ import annotations

from pathlib import Path

from AWS_helpers.costs import estimate_cost
from lesson.exercises import sagemaker_gpu_instances as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

PAGE = Path(__file__).parents[2] / "episodes" / "08-sagemaker-gpu-instances.md"
HOUR = estimate_cost("ml.m5.xlarge").usd

ANSWERS: Answers = {
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


class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    answers = ANSWERS


def test_the_exercises_calculate_with_the_price_of_the_helpers() -> None:
    assert exercises.HOURLY == HOUR


def test_the_page_quotes_what_was_measured() -> None:
    row = f"| 2 × `ml.m5.xlarge` | {exercises.WAITED} s | {exercises.BILLED} s |"
    assert row in PAGE.read_text(encoding="utf-8")
