"""Every check() of episode 23 rejects the blank and typical wrong answers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from lesson.exercises import clean_up as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

RNG = np.random.default_rng(0)
ROWS = RNG.normal(5, 30, (2000, 12))
TRAIN, VAL = ROWS[:1600], ROWS[1600:]
_home = tempfile.TemporaryDirectory(prefix="own-tables-")


def scaled(rows: np.ndarray, by: np.ndarray) -> np.ndarray:
    return (rows - by.mean(axis=0)) / by.std(axis=0)


def folder(name: str, train: np.ndarray | None, val: np.ndarray, key: str = "X_train") -> str:
    """A folder with the two archives; without the first where train is None."""
    home = Path(_home.name) / name
    home.mkdir()
    if train is not None:
        np.savez(home / "train_data.npz", **{key: train, "y_train": np.zeros(len(train))})
    np.savez(home / "val_data.npz", X_val=val, y_val=np.zeros(len(val)))
    return str(home)


GOOD = (scaled(TRAIN, TRAIN), scaled(VAL, TRAIN))
ANSWERS: Answers = {
    "still_costs": (
        ["BCEF", "b, c, e and f"],
        [
            ("ABCEF", "of A"),
            ("BCDEF", "of D"),
            ("CEF", "of B"),
            ("BEF", "of C"),
            ("BCF", "of E"),
            ("BCE", "of F"),
            ("G", "letters from A to F"),
        ],
    ),
    "forgotten": (
        [9, 20 * 12 * 135 / 3600],
        [
            (32400, "another unit"),
            (540, "another unit"),
            (0.45, "one learner"),
            (0.75, "one job of each"),
            (12, "all the jobs"),
        ],
    ),
    "order": (
        ["CABDE", "ACBDE", "a, b, c, d, e"],
        [
            ("ABDEC", "read the list"),
            ("CBDAE", "while a job runs"),
            ("CADBE", "in that bucket"),
            ("CBADE", "not written"),
            ("CABED", "whether it is gone"),
            ("CABD", "each of the five"),
        ],
    ),
    "own_table": (
        [folder("good", *GOOD)],
        [
            (folder("leak", scaled(TRAIN, ROWS), scaled(VAL, ROWS)), "has seen the validation"),
            (folder("raw", TRAIN, VAL), "not on one scale"),
            (folder("twice", GOOD[0], scaled(VAL, VAL)), "scaler of their own"),
            (folder("by-val", scaled(TRAIN, VAL), scaled(VAL, VAL)), "no mean of 0"),
            (folder("key", *GOOD, key="x"), "no array X_train"),
            (folder("rows", GOOD[0][:100], GOOD[1]), "1600 and 400 rows"),
            (folder("objects", GOOD[0].astype(object), GOOD[1]), "no archive of numbers"),
            (folder("half", None, GOOD[1]), "there is no"),
            ("nowhere", "there is no"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = "23-clean-up.md"
    module = exercises
    answers = ANSWERS
