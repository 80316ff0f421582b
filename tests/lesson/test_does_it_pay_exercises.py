"""Every check() of episode 10 rejects the blank and typical wrong answers."""

from __future__ import annotations

from pathlib import Path

from AWS_helpers.costs import estimate_cost
from lesson.exercises import does_it_pay as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

PAGE = Path(__file__).parents[2] / "episodes" / "10-does-it-pay.md"
TEXT = PAGE.read_text(encoding="utf-8")

ANSWERS: Answers = {
    "direction": (["B", "b"], [("A", "each row"), ("C", "both sides"), ("D", "A, B, C")]),
    "timing": (
        [1.6, 10 / 6.25, 1.59],
        [
            (3.0 / 3.4, "the start"),
            (13.0 / 9.65, "the start"),
            (6.25 / 10, "turn it round"),
            (2, "200 epochs more"),
        ],
    ),
    "limit": (
        [135 / 130, 1.04],
        [(135 / 132.5, "two instances"), (27, "only the loop"), (2, "only the loop"), (1, "left")],
    ),
    "efficiency": (
        [0.6],
        [
            (2.4, "speed-up"),
            (240, "speed-up"),
            (60, "between 0 and 1"),
            (5 / 12, "divided by"),
            (5 / 3, "divided by"),
            (24 / 9 / 4, "exchange"),
            (24 / 7 / 4, "not shared out"),
            (0.25, "at most"),
        ],
    ),
    "hour": (
        [0.115, 2 * estimate_cost("ml.m5.xlarge").usd / 4],
        [
            (0.46, "how many hours"),
            (12 * 0.23 / 4, "the difference"),
            (12 * 0.23, "the difference"),
            (0.23, "one instance"),
            (5, "12 hours"),
        ],
    ),
    "weak": (
        ["BC", "c, b"],
        [
            ("AC", "stay the same"),
            ("BCD", "less far"),
            ("BCE", "how many epochs"),
            ("B", "how many rows"),
            ("C", "called"),
            ("F", "from A to E"),
        ],
    ),
    "cases": (
        ["CAB", "c, a, b"],
        [
            ("AAB", "in the first"),
            ("BAB", "in the first"),
            ("CBB", "in the second"),
            ("CAA", "in the third"),
            ("AB", "three letters"),
            ("ABD", "three letters"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    answers = ANSWERS


def test_the_exercises_calculate_with_the_numbers_of_the_page_and_the_helpers() -> None:
    assert estimate_cost("ml.m5.xlarge").usd == exercises.HOURLY
    assert f"seconds_20_epochs = {exercises.SHORT}" in TEXT
    assert f"seconds_220_epochs = {exercises.LONG}" in TEXT
    assert f"{exercises.LOOP} of the {exercises.BILLED} billed" in TEXT
