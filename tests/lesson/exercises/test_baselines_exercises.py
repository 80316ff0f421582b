"""Every check() of episode 21 rejects the blank and typical wrong answers."""

from __future__ import annotations

from typing import Any

from lesson.exercises import baselines as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules


def record(
    status: str = "Completed", objective: str | None = "Accuracy", candidates: int = 6
) -> dict[str, Any]:
    """What describe_auto_ml_job_v2 says."""
    tabular = {"CompletionCriteria": {"MaxCandidates": candidates}}
    described: dict[str, Any] = {
        "AutoMLJobStatus": status,
        "FailureReason": "ClientError: no rows",
        "AutoMLProblemTypeConfig": {"TabularJobConfig": tabular},
    }
    return described | ({"AutoMLJobObjective": {"MetricName": objective}} if objective else {})


def only_one(one: Any, other: Any, truth: Any) -> Any:
    first, second = one == truth, other == truth
    return (first & ~second).sum(), (second & ~first).sum()


def enough(accuracy: float, half: float) -> float:
    return accuracy * (1 - accuracy) * (1.96 / half) ** 2


ANSWERS: Answers = {
    "majority": (
        [
            lambda train, test: (test == train.mode()[0]).mean(),
            lambda train, test: sum(test == train.value_counts().idxmax()) / len(test),
        ],
        [
            (lambda train, test: train.mode()[0], "that is a label"),
            (lambda train, test: train.value_counts(normalize=True).max(), "share of the training"),
            (lambda train, test: (test == test.mode()[0]).mean(), "label of the training rows"),
            (lambda train, test: 0.5, "it returns 0.5"),
            (lambda train, test: None, "returns nothing"),
            (0.626, "a function"),
        ],
    ),
    "gaps": (["B", "b"], [("A", "by chance"), ("C", "no age is changed"), ("D", "one of A, B, C")]),
    "sent": (
        [record()],
        [
            (record("Failed"), "no rows"),
            (record("InProgress"), "wait for its end"),
            (record(objective=None), "chose its objective itself"),
            (record(objective="F1"), "its objective is F1"),
            (record(candidates=2), "try 2 candidates"),
            ("Completed", "describe_auto_ml_job_v2"),
        ],
    ),
    "only_one": (
        [only_one, lambda *three: [float(each) for each in only_one(*three)]],
        [
            (lambda *three: only_one(*three)[::-1], "in the other order"),
            (
                lambda one, other, truth: ((one == truth).sum(), (other == truth).sum()),
                "leave out those on which both are",
            ),
            (lambda *three: 3, "return two numbers"),
            (lambda *three: (0, 0), "returns 0 and 0"),
            (2, "a function"),
        ],
    ),
    "enough": (
        [enough, lambda accuracy, half: 4 * enough(accuracy, 2 * half)],
        [
            (lambda accuracy, half: 4 * enough(accuracy, half), "to both sides"),
            (lambda accuracy, half: enough(accuracy, half) / 1.96**2, "one standard deviation"),
            (lambda accuracy, half: enough(accuracy, half) ** 0.5, "take the square"),
            (lambda accuracy, half: 100, "it is 171, not 100"),
            (171, "a function"),
        ],
    ),
    "stop": (
        ["B"],
        [
            ("A", "the test rows choose"),
            ("C", "cannot tell apart"),
            ("D", "how sure"),
            ("E", "one of A, B, C, D"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = "21-baselines.md"
    module = exercises
    answers = ANSWERS
