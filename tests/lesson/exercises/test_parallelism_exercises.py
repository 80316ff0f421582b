"""Every check() of episode 09 rejects the blank and typical wrong answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lesson.exercises import parallelism as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules
from training import train_nn

PAGE = Path(__file__).parents[3] / "episodes" / "09-parallelism.md"


def way(replicas: list[dict[str, Any]]) -> str:
    if len(replicas) == 1:
        return "alone"
    return "model" if replicas[0]["rows"] == replicas[1]["rows"] else "data"


ANSWERS: Answers = {
    "combined": (
        [
            lambda a, b, m, n: (m * a + n * b) / (m + n),
            lambda a, b, m, n: a + (b - a) * n / (m + n),
        ],
        [
            (lambda a, b, m, n: (a + b) / 2, "mean of means"),
            (lambda a, b, m, n: (n * a + m * b) / (m + n), "turn it round"),
            (lambda a, b, m, n: m * a + n * b, "divide by their number"),
            (lambda a, b, m, n: a, "it makes 1"),
            (lambda a, b, m, n: "a", "returns a str"),
            (lambda a, b: a, "raises TypeError"),
            (100 / 569, "a function"),
        ],
    ),
    "copies": (
        [1_069_060, "1069060 bytes"],
        [(534_530, "rows are halved"), (2_138_120, "one copy"), (267_265, "has each"), (1, "half")],
    ),
    "order": (
        ["EDAB", "e d a b", "E, D, A, B"],
        [
            ("EDBA", "once for each"),
            ("ECDB", "different neurons"),
            ("ECDAB", "different neurons"),
            ("DEAB", "uses the neurons"),
            ("EADB", "A uses `out`"),
            ("EBDA", "B uses `out`"),
            ("EDB", "four of the five"),
            ("EDAA", "once"),
            ("sum", "from A to E"),
        ],
    ),
    "quarter": (
        [lambda n: 4 * (266_240 / n + 1025), lambda n: 4 * ((8 * 512 + 512**2) // n + 1025)],
        [
            (lambda n: 266_240 // n + 1025, "four bytes"),
            (lambda n: 4 * 267_265 / n, "some of it is not split"),
            (lambda n: 536_580, "two replicas"),
            (lambda n: 270_340, "for two replicas"),
            (lambda n: 4 * 267_265, "four bytes for each"),
            (270_340, "a function"),
        ],
    ),
    "crossing": (
        [522],
        [(523, "one row more"), (569, "all 569"), (2088, "four bytes"), (64, "as many values")],
    ),
    "records": (
        [way],
        [
            (lambda replicas: "model", "rows of its own"),
            (lambda replicas: "data", "all the rows, and half"),
            (lambda replicas: "data" if len(replicas) > 1 else "alone", "half of the bytes"),
            (lambda replicas: None, "returns nothing"),
        ],
    ),
    "choices": (
        ["CADB", "c a d b"],
        [
            ("BADB", "1:"),
            ("CBDB", "2:"),
            ("CACB", "3:"),
            ("CADC", "4:"),
            ("CAD", "four letters"),
            ("CADE", "four letters"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    answers = ANSWERS


def test_the_exercises_count_the_weights_of_the_network_on_the_page() -> None:
    width = exercises.WIDTH
    parts = [weight.numel() for weight in train_nn.build_model(7, [width] * 2, 0).parameters()]
    assert sum(parts) == exercises.WEIGHTS == exercises.SHARED + exercises.WHOLE
    assert sum(parts[:3]) == exercises.SHARED
