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
    "price": (
        [77.8, 40_000 * 17 / 2**20 * 10 * 12, 81.6],
        [
            (6.5, "one month"),
            (0.65, "by the month"),
            (28_800, "until August 2023"),
            (680_000, "how many GiB"),
        ],
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


def test_the_page_describes_the_team_that_the_exercise_reckons_with() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"{exercises.RUNS:,} runs of {exercises.KIB} KiB each" in page
    assert f"{exercises.PRICE} dollars a month for each GiB" in page


def test_the_champion_is_the_run_that_the_page_promotes() -> None:
    assert f'"fast": {exercises.CHAMPION}' in PAGE.read_text(encoding="utf-8")
