"""Every check() of episode 23 rejects the blank and typical wrong answers."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from lesson.exercises import clean_up as exercises
from local_cloud import Bill
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


def broken(name: str, content: bytes) -> str:
    """A folder whose first archive has this content."""
    home = folder(name, *GOOD)
    (Path(home) / "train_data.npz").write_bytes(content)
    return home


def zipped(*names: str) -> bytes:
    """A zip file with texts under these names."""
    made = io.BytesIO()
    with ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, "text")
    return made.getvalue()


# What a bill lists, as `local-cloud bill --json` prints it.
WHAT = {"cloud": "SageMaker", "what": "notebook instance x", "on": "1 × box", "since": 0.0}
ROW = WHAT | {
    "until": 1.0,
    "quantity": 1.0,
    "unit": "hours",
    "unit_price": 0.05,
    "dollars": 0.05,
}
LEAK = WHAT | {"dollars_per_day": 1.2, "remove": "", "dollars": 0.05, "kind": "notebook instance"}
FILES = {
    "cloud": "S3",
    "what": "bucket s3://x",
    "on": "1 MB",
    "since": 0.0,
    "dollars_per_day": 1e-6,
    "remove": "",
    "dollars": 0.0,
    "kind": "bucket",
}


def bill(rows: list[dict[str, Any]], leaks: list[dict[str, Any]]) -> Bill:
    return Bill.of({"at": 2.0, "rows": rows, "leaks": leaks, "queued": []})


STILL = bill([ROW], [LEAK, FILES])
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
    "leak": (
        [bill([ROW], [FILES])],
        [
            (STILL, "notebook instance x still costs 1.20 dollars a day"),
            (bill([ROW], [LEAK | {"dollars_per_day": None}]), "still costs money"),
            (bill([], []), "no notebook instance is on this bill"),
            ("delete_notebook_instance", "the answer is the bill"),
            (STILL.leaks[0], "the answer is the bill"),
        ],
    ),
    "order": (
        ["CBEAD", "BCEAD", "BECAD"],
        [
            ("BEADC", "read the list"),
            ("CEABD", "while a job runs"),
            ("CBAED", "in that bucket"),
            ("CEBAD", "not written"),
            ("CBEDA", "whether it is gone"),
            ("CBEA", "each of the five"),
        ],
    ),
    "own_table": (
        [folder("good", *GOOD), Path(_home.name) / "good"],
        [
            (folder("leak", scaled(TRAIN, ROWS), scaled(VAL, ROWS)), "has seen the validation"),
            (folder("raw", TRAIN, VAL), "not on one scale"),
            (folder("twice", GOOD[0], scaled(VAL, VAL)), "scaler of their own"),
            (folder("by-val", scaled(TRAIN, VAL), scaled(VAL, VAL)), "no mean of 0"),
            (folder("key", *GOOD, key="x"), "no array X_train"),
            (folder("rows", GOOD[0][:100], GOOD[1]), "has the shape (100, 12)"),
            (folder("objects", GOOD[0].astype(object), GOOD[1]), "no archive of numbers"),
            (folder("texts", GOOD[0].astype(str), GOOD[1]), "something else than numbers"),
            (broken("empty", b""), "no archive of numbers"),
            (broken("text", b"a,b,c"), "no archive of numbers"),
            (broken("zip", zipped("X_train.npy")), "something else than numbers"),
            (folder("half", None, GOOD[1]), "there is no"),
            ("nowhere", "there is no"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = "23-clean-up.md"
    module = exercises
    answers = ANSWERS
