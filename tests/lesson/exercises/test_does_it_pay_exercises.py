"""Every check() of episode 10 rejects the blank and typical wrong answers."""

from __future__ import annotations

from pathlib import Path

from AWS_helpers.costs import estimate_cost
from lesson.exercises import does_it_pay as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

PAGE = Path(__file__).parents[3] / "episodes" / "10-does-it-pay.md"
TEXT = PAGE.read_text(encoding="utf-8")

ANSWERS: Answers = {
    "direction": (["B", "b"], [("A", "each row"), ("C", "both sides"), ("D", "A, B, C")]),
    "timing": (
        [lambda short, long: (long[1] - short[1]) / (long[2] - short[2])],
        [
            (lambda short, long: short[1] / short[2], "the start"),
            (lambda short, long: long[1] / long[2], "the start"),
            (lambda short, long: (long[2] - short[2]) / (long[1] - short[1]), "turn it round"),
            (lambda short, long: 2, "200 epochs more"),
            (lambda short, long: 1.6, "that it is given"),
            (lambda short, long: short / long, "raises TypeError"),
            (1.6, "a function"),
        ],
    ),
    "limit": (
        [135 / 130, 1.04],
        [(135 / 132.5, "two instances"), (27, "only the loop"), (2, "only the loop"), (1, "left")],
    ),
    "efficiency": (
        [lambda start, shared, sent, n: (start + shared) / (start + shared / n + sent) / n],
        [
            (
                lambda start, shared, sent, n: (start + shared) / (start + shared / n + sent),
                "speed",
            ),
            (lambda start, shared, sent, n: 240, "speed-up"),
            (lambda start, shared, sent, n: 60, "between 0 and 1"),
            (lambda start, shared, sent, n: (start + shared / n + sent) / (start + shared), "by"),
            (lambda start, shared, sent, n: 5 / 3, "divided by"),
            (
                lambda start, shared, sent, n: (start + shared) / (start + shared / n) / n,
                "exchange",
            ),
            (
                lambda start, shared, sent, n: (start + shared) / ((start + shared) / n + sent) / n,
                "not shared out",
            ),
            (lambda start, shared, sent, n: 0.25, "at most"),
            (lambda start, shared, sent, n: 0.6, "that it is given"),
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
