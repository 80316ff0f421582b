"""Every check() of episode 12 rejects the blank and typical wrong answers."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from lesson.exercises import tuning as exercises
from lesson.search_plots import searches
from lesson.studies import Between
from lesson.trial_plots import importance
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules

PAGE = Path(__file__).parents[2] / "episodes" / "12-tuning.md"
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())

FOUND = {"random": [1, 5, 2, 3, 4, 5], "Bayesian, 1 at a time": [1, 1, 1, 1, 9, 9]}
ANSWERS: Answers = {
    "bill": (
        [12, 12.0],
        [
            (240, "how many hours"),
            (720, "by the hour"),
            (0.8, "every combination"),
            (6, "two at a time"),
            (4, "multiply"),
        ],
    ),
    "scales": (
        ["BACA", "b, a, c, a"],
        [
            ("AACA", "1: from"),
            ("BBCA", "2: no logarithm"),
            ("BABA", "3: the step"),
            ("BAAA", "3: the step"),
            ("BACB", "4: from one"),
            ("BAC", "four letters"),
            ("BACD", "four letters"),
        ],
    ),
    "pairs": (
        [2, 2.0],
        [
            (3, "or nobody"),
            (4, "or nobody"),
            (0, "for instance"),
            (7, "6 pairs"),
        ],
    ),
    "informed": (
        [8],
        [
            (14, "one at a time"),
            (16, "second eight"),
            (24, "nobody knows"),
            (3, "so many rounds"),
            (0, "sixteen"),
            (10, "go through"),
        ],
    ),
    "tag": (
        ["validation_loss", " validation_loss "],
        [
            ("val_loss", "which tags arrived"),
            ("loss", "which tags arrived"),
            ("validation_accuracy", "worst accuracy"),
            ("validation:loss", "SageMaker"),
            ("accuracy", "end of the reason"),
        ],
    ),
    "reading": (
        ["C", "c"],
        [("A", "at one end"), ("B", "beyond"), ("D", "importance"), ("E", "A, B, C")],
    ),
    "winner": (["C"], [("A", "average"), ("B", "one model in six"), ("D", "A, B, C")]),
    "enough": (
        [59],
        [
            (58, "94.9"),
            (60, "one less"),
            (20, "64 per cent"),
            (19, "do not add up"),
            (24, "71"),
            (90, "99 per cent"),
            (5, "all trials miss"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    answers = ANSWERS
    context: ClassVar[Context] = {"pairs": (FOUND,)}

    def test_a_draw_is_no_win(self) -> None:
        draws = {"random": [1.0, 2.0, 1.0], "Bayesian, 1 at a time": [2.0, 2.0, 2.0]}
        assert self.said("pairs", 2, draws).startswith("Right.")
        assert "draw" in self.said("pairs", 3, draws)


def test_the_chances_that_are_told_are_right() -> None:
    for trials, chance in ((19, 62), (20, 64), (24, 71), (90, 99)):
        assert round(100 * (1 - 0.95**trials)) == chance
    assert round(100 * (1 - 0.95**58), 1) == 94.9 and 1 - 0.95**59 >= 0.95


def test_the_page_describes_the_grid_that_the_exercise_calculates_with() -> None:
    assert "5 learning rates, 4 shapes of the hidden layers, 4 batch sizes and 3 values" in TEXT
    assert f"trial takes {exercises.MINUTES} minutes" in TEXT and exercises.TRIALS == 5 * 4 * 4 * 3


def test_the_recorded_study_asks_for_higher_learning_rates() -> None:
    study = exercises.recorded
    rates, shares = study.space["learning_rate"], importance(study)
    assert len(study.trials) == study.planned == 24 and isinstance(rates, Between)
    best = sorted(study.trials, key=lambda trial: trial.result or 0.0)[:3]
    assert all(float(trial.values["learning_rate"]) > 0.9 * rates.high for trial in best)
    assert shares["learning_rate"] == max(shares.values()) and shares["min_delta"] < 0.1


def test_searches_are_drawn_and_told_in_words(tmp_path: Path) -> None:
    tried = {"grid": [(0.001, 0.0), (0.001, 1.0)], "random": [(0.02, 0.5), (0.001, 0.4)]}
    picture = searches(tried, lambda rate, _: abs(rate - 0.02), tmp_path / "a" / "searches.png")
    assert picture.path.stat().st_size > 10_000
    assert "Grid: 2 trials with 1 learning rates; the best has 0.001" in picture.alt
    assert "Random: 2 trials with 2 learning rates; the best has 0.02" in picture.alt
