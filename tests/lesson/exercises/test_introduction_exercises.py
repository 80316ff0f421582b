"""Every check() of episode 01 rejects the blank and typical wrong answers."""

from __future__ import annotations

from AWS_helpers.costs import estimate_cost
from lesson.exercises import introduction as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

ANSWERS: Answers = {
    "stay_or_go": (
        ["BCA", "b, c, a"],
        [
            ("CCA", "in the first"),
            ("BAA", "in the second"),
            ("BBA", "in the second"),
            ("BCC", "in the third"),
            ("BCB", "in the third"),
            ("AB", "three letters"),
            ("ABD", "three letters"),
        ],
    ),
    "order": (
        ["DFCAEB", "d f c a e b"],
        [
            ("FDCAEB", "bucket first"),
            ("DCFAEB", "sent the job"),
            ("DFACEB", "to run on"),
            ("DFCEAB", "from the training"),
            ("DFCABE", "can fetch only"),
            ("DFCA", "each of the six"),
        ],
    ),
    "true_here": (
        ["ABE", "e, b, a"],
        [
            ("ABCE", "C is false"),
            ("ABDE", "D is false"),
            ("BE", "A is missing"),
            ("AE", "B is missing"),
            ("AB", "E is missing"),
            ("F", "letters from A to E"),
        ],
    ),
    "weekend": (
        [14.72, estimate_cost("ml.m5.xlarge", hours=64).usd],
        [
            (64, "each of them cost"),
            (0.23, "one hour"),
            (16 * 0.23, "count the hours"),
            (88 * 0.23, "count the hours"),
            (5, "multiply by the price"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = "01-introduction.md"
    module = exercises
    answers = ANSWERS


def test_the_exercise_calculates_with_the_price_of_the_helpers() -> None:
    assert estimate_cost("ml.m5.xlarge").usd == exercises.HOURLY
