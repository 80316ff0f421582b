"""Every check() of episode 20 rejects the blank and typical wrong answers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from lesson.exercises import pipelines as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

PAGE = Path(__file__).parents[3] / "episodes" / "20-pipelines.md"
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())


def labels(data: Any) -> Any:
    with np.load(f"{data.path}/val_data.npz") as archive:
        return archive["y_val"]


def component(
    function: Any, outputs: bool = True, name: str = "data", kind: str = "system.Dataset@0.0.1"
) -> SimpleNamespace:
    """What @dsl.component makes of a function, as far as it is looked at."""
    inputs = {name: SimpleNamespace(type=kind)}
    spec = SimpleNamespace(inputs=inputs, outputs={"Output": None} if outputs else None)
    return SimpleNamespace(python_func=function, component_spec=spec)


def right(data: Any) -> float:
    share = float(labels(data).mean())
    return max(share, 1 - share)


def job(**states: str) -> SimpleNamespace:
    tasks = [
        SimpleNamespace(task_name=name, state=SimpleNamespace(name=state))
        for name, state in states.items()
    ]
    return SimpleNamespace(task_details=tasks)


def execution(used: bool = True, **statuses: str) -> SimpleNamespace:
    steps: list[dict[str, Any]] = [
        {"StepName": name, "StepStatus": status} for name, status in statuses.items()
    ]
    for step in steps:
        if used and step["StepName"] == "train":
            step["CacheHitResult"] = {}
    return SimpleNamespace(list_steps=lambda: steps)


ANSWERS: Answers = {
    "kinds": (
        ["PAPA", "p, a, p, a"],
        [
            ("AAPA", "first case"),
            ("PPPA", "second case"),
            ("PAAA", "third case"),
            ("PAPP", "fourth case"),
            ("PA", "four letters"),
        ],
    ),
    "baseline": (
        [component(right)],
        [
            (right, "@dsl.component"),
            (component(right, outputs=False), "-> float"),
            (component(right, name="rows"), "Input[Dataset]"),
            (component(right, kind="STRING"), "Input[Dataset]"),
            (component(lambda data: labels(data).mean()), "share of class 1"),
            (component(lambda data: None), "returns nothing yet"),
            (component(lambda data: 0.0), "it returns 0"),
            (component(lambda data: labels(data)[99]), "IndexError"),
        ],
    ),
    "again": (
        [job(prepare="SKIPPED", train="SUCCEEDED", evaluate="SUCCEEDED")],
        [
            (job(prepare="SKIPPED", train="SKIPPED"), "the same flags"),
            (job(prepare="SUCCEEDED", train="SUCCEEDED"), "prepared again"),
            (job(prepare="SKIPPED", train="RUNNING"), "wait for its end"),
            (job(prepare="SKIPPED", train="FAILED"), "its log"),
            (job(other="SUCCEEDED"), "no task train"),
            ("again", "run_pipeline"),
        ],
    ),
    "registered": (
        [execution(train="Succeeded", better="Succeeded", register="Succeeded")],
        [
            (execution(train="Succeeded", better="Succeeded"), "greater than BetterThan"),
            (execution(train="Succeeded", register="Executing"), "wait for its end"),
            (execution(used=False, train="Succeeded", register="Succeeded"), "trained again"),
            (execution(used=False, train="Failed"), "FailureReason"),
            (execution(other="Succeeded"), "no step train"),
            ("registered", "run_pipeline"),
        ],
    ),
    "rebuilt": (
        [{"prepare"}, ["prepare"], "prepare"],
        [
            ({"prepare", "train", "evaluate"}, "has changed"),
            (set(), "as before"),
            ({"prepare", "evaluate"}, "a new model"),
            ({"deploy"}, "a set of names"),
        ],
    ),
    "stale": ([0, "0 tasks"], [(2, "into the file"), (1, "same inputs")]),
    "price": (
        [2 * 0.1 * 0.154 + 0.03, "0.0608 dollars", 0.06],
        [
            (4 * 0.1 * 0.154 + 0.03, "two are skipped"),
            (2 * 0.1 * 0.154, "has a price, too"),
            (4 * 0.1 * 0.154, "without the price"),
            (2 * (0.1 * 0.154 + 0.03), "not for each task"),
            (2 * 6 * 0.154 + 0.03, "takes minutes"),
            (5.0, "add up the minutes"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    answers = ANSWERS


def test_the_page_names_what_the_exercise_calculates_with() -> None:
    assert f"take {exercises.MINUTES} minutes each, start included, at {exercises.HOUR}" in TEXT
