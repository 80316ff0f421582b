"""Every check() of episode 13 rejects the blank and typical wrong answers."""

from __future__ import annotations

from pathlib import Path

from lesson.exercises import tracking as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

PAGE = Path(__file__).parents[2] / "episodes" / "13-tracking.md"

ANSWERS: Answers = {
    "record": (
        ["ABCD", "d, c, b, a", "A, B, C and D"],
        [
            ("ABC", "round in another way"),
            ("ABD", "another version of the script"),
            ("ACD", "which rows"),
            ("BCD", "learning rate"),
            ("A", "more than that"),
            ("ABCDE", "does not read it"),
            ("ABCDF", "renamed"),
            ("flags", "from A to F"),
        ],
    ),
    "mixed": (
        ["C", " c."],
        [("A", "there is one"), ("B", "begins anew"), ("D", "nothing looks"), ("E", "A, B, C, D")],
    ),
    "wrong_run": (
        ["B"],
        [("A", "no run is open"), ("C", "exists"), ("D", "opens none"), ("F", "A, B, C, D")],
    ),
    "register": (["B"], [("A", "40 rows"), ("C", "chose it"), ("D", "A, B, C")]),
    "promote": (
        ["BACD", "b a c d", "B, A, C, D"],
        [
            ("ABCD", "nothing yet"),
            ("BCAD", "nobody has compared"),
            ("BADC", "still the old one"),
            ("DBAC", "nothing yet"),
            ("BACDE", "no way back"),
            ("BAC", "four of the five"),
            ("BBAC", "once"),
            ("upload", "from A to E"),
        ],
    ),
    "lineage": (
        [0.03, 3e-2],
        [
            (0.003, "the alias has moved"),
            (2, "a number of a version"),
            (0.0003, "no run here"),
            ("0.03", "a number, not"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    answers = ANSWERS


def test_the_champion_is_the_run_that_the_page_promotes() -> None:
    assert f'"fast": {exercises.CHAMPION}' in PAGE.read_text(encoding="utf-8")
