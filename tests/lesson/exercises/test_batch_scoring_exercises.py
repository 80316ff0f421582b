"""Every check() of episode 15 rejects the blank and typical wrong answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lesson.exercises import batch_scoring as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

PAGE = Path(__file__).parents[3] / "episodes" / "15-batch-scoring.md"
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())


def numbers(text: str) -> list[int]:
    return [json.loads(line)["instance"]["PassengerId"] for line in text.splitlines()]


def chances(ids: list[int], results: list[dict[str, Any]], *, by_place: bool = False) -> Any:
    predictions = {each["instance"]["PassengerId"]: each["prediction"] for each in results}
    if by_place:
        return [each["prediction"]["probability"] for each in results]
    return [predictions[each]["probability"] if each in predictions else None for each in ids]


def record(status: str = "Completed", split: str = "Line", join: str = "Line") -> dict[str, Any]:
    """What describe_transform_job says."""
    return {
        "TransformJobStatus": status,
        "FailureReason": "ClientError: index 41",
        "TransformInput": {"SplitType": split},
        "TransformOutput": {"AssembleWith": join},
    }


ANSWERS: Answers = {
    "which": (
        ["OBBO", "o, b, b, o"],
        [
            ("BBBO", "first case"),
            ("OOBO", "second case"),
            ("OBOO", "third case"),
            ("OBBB", "fourth case"),
            ("OB", "four letters"),
        ],
    ),
    "failed": (
        [numbers, lambda text: tuple(numbers(text))],
        [
            (lambda text: [*range(len(text.splitlines()))], "the lines of the error file"),
            (
                lambda text: [json.loads(line)["instance"] for line in text.splitlines()],
                "of each return its PassengerId",
            ),
            (lambda text: numbers(text)[:1], "31 and 4"),
            (lambda text: numbers(text) or None, "returns nothing"),
            (lambda text: numbers(text) or [0], "an empty list"),
            (lambda text: 31, "a list of numbers"),
            ([201, 567], "a function"),
        ],
    ),
    "joined": (
        [chances, lambda ids, results: [each or float("nan") for each in chances(ids, results)]],
        [
            (lambda ids, results: chances(ids, results, by_place=True), "order of the file"),
            (
                lambda ids, results: [each for each in chances(ids, results) if each],
                "put None there",
            ),
            (lambda ids, results: chances(ids, results)[::-1], "it should be [0.5, None, 0.25]"),
            (lambda ids, results: dict(zip(ids, ids, strict=True)), "the answer is a list"),
            ("by key", "a function"),
        ],
    ),
    "scored": (
        [record()],
        [
            (record("Failed"), "index 41"),
            (record("InProgress"), "wait for its end"),
            (record(split="None"), "as one request"),
            (record(join="None"), "a line each"),
            ("Completed", "describe_transform_job"),
        ],
    ),
    "cheaper": (
        [240],
        [
            (241, "one job less"),
            (10, "into an hour"),
            (4, "minutes for hours"),
            (24, "jobs of an hour"),
            (1440, "does a job take"),
            (100, "how many minutes"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    answers = ANSWERS


def test_the_page_describes_the_job_that_the_exercise_calculates_with() -> None:
    assert f"a job that takes {exercises.MINUTES} minutes of one machine" in TEXT
