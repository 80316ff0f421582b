"""Every check() of episode 16 rejects the blank and typical wrong answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lesson.exercises import package as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

PAGE = Path(__file__).parents[3] / "episodes" / "16-package.md"
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())
CHIEF, WORKERS = exercises.CHIEF, exercises.WORKERS


def pools(*wanted: tuple[str, int]) -> list[dict[str, Any]]:
    """What pool() of the page returns, for each."""
    return [
        {"machine_spec": {"machine_type": machine}, "replica_count": replicas}
        for machine, replicas in wanted
    ]


ANSWERS: Answers = {
    "files": (
        ["TMTT", "t, m, t, t"],
        [
            ("MMTT", "first piece"),
            ("TTTT", "second piece"),
            ("TMMT", "third piece"),
            ("TMTM", "fourth piece"),
            ("TM", "four letters"),
        ],
    ),
    "rmse": (
        [lambda p, y: float(np.sqrt(np.mean((p - y) ** 2)))],
        [
            (lambda p, y: ((p - y) ** 2).mean(), "its root is in dollars"),
            (lambda p, y: ((p - y) ** 2).sum(), "sum of the squares"),
            (lambda p, y: ((p - y) ** 2).sum() ** 0.5, "take the mean first"),
            (lambda p, y: abs(p - y).mean(), "the squares are missing"),
            (lambda p, y: abs(p - y).mean() ** 0.5, "root of the mean absolute"),
            (lambda p, y: (p - y).mean(), "square them"),
            (lambda p, y: 0.0, "the root of 25 / 4"),
            (lambda p, y: p - y, "not a number"),
            (2.5, "a function"),
        ],
    ),
    "built": (
        ["__init__.py", "trainer/__init__.py"],
        [
            ("model.py", "any name"),
            ("task.py", "does not look for it"),
            ("pyproject.toml", "to the project"),
            ("setup.cfg", "in the archive"),
        ],
    ),
    "steps": (
        ["CEDBA", "EDBCA", "E, C, D, B, A"],
        [
            ("CDEBA", "first move the code"),
            ("CEBDA", "before it is built"),
            ("CEDAB", "installs the archive"),
            ("EDBAC", "reads the data"),
            ("EDBA", "is needed once"),
            ("XYZ", "from A to E"),
        ],
    ),
    "settings": (
        ["ACD", "d, c, a"],
        [
            ("ABCD", "brings its code"),
            ("ACDE", "an image of Google's"),
            ("CD", "some Region"),
            ("AD", "has a name"),
            ("AC", "which machines"),
            ("X", "from A to E"),
        ],
    ),
    "pools": (
        [pools(CHIEF, WORKERS), tuple(pools(CHIEF, WORKERS))],
        [
            (pools(WORKERS, CHIEF), "the place is the role"),
            (pools(CHIEF, (WORKERS[0], 1)), "one pool of three"),
            (pools(CHIEF, *[(WORKERS[0], 1)] * 3), "one pool of three"),
            (pools(CHIEF), "where are the workers"),
            (pools(CHIEF)[0], "where are the workers"),
            (pools((CHIEF[0], 4)), "needed are"),
            (["n1-standard-16", "n1-standard-8"], "what pool() returns"),
            (4, "what pool() returns"),
        ],
    ),
    "share": (
        [60],
        [
            (80, "the chief trains too"),
            (240, "all of them together"),
            (120, "more replicas"),
            (30, "how many replicas"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    answers = ANSWERS


def test_the_page_describes_the_job_that_the_exercises_ask_for() -> None:
    assert f"a chief on an `{CHIEF[0]}` and three workers, each on an `{WORKERS[0]}`" in TEXT
    assert f"of a batch of {exercises.BATCH} does one of the workers" in TEXT
