"""Every check() of episode 22 rejects the blank and typical wrong answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

import pytest

from lesson.exercises import troubleshooting as exercises
from local_cloud import Status
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules
from tests.lesson.sent_jobs import amazon, connected, ended, on_amazon


def by_words(message: str) -> bool:
    words = ("internal error", "internalservererror", "stockout", "interrupted")
    return any(word in message.lower() for word in words)


ANSWERS: Answers = {
    "stage": (
        ["PRSP", "p, r, s, p"],
        [
            ("SRSP", "first message"),
            ("PSSP", "second message"),
            ("PRPP", "third message"),
            ("PRSS", "fourth message"),
            ("PRS", "four letters"),
        ],
    ),
    "again": (
        [by_words],
        [
            (lambda message: "Internal error" in message, "helps"),
            (lambda message: True, "in the same way"),
            (lambda message: "internal" in message, "helps"),
            (lambda message: message, "True or False"),
            ("Internal error", "a function"),
        ],
    ),
}


@pytest.fixture(scope="class")
def jobs(
    request: pytest.FixtureRequest, cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Jobs as learners send them, and what is said about each."""
    folder = tmp_path_factory.mktemp("larger")
    with connected(folder):
        send = partial(on_amazon, folder, "train-nn")
        request.cls.answers = ANSWERS | {
            "larger": (
                [ended(amazon, send(machine="ml.m5.2xlarge"))],
                [
                    (ended(amazon, send(machine="ml.m5.xlarge")), "16 GiB; take a machine"),
                    (ended(amazon, send(machine="ml.c5.2xlarge")), "16 GiB; take a machine"),
                    (ended(amazon, send(machine="ml.m5.2xlarge", train="broken")), "has failed"),
                ],
            )
        }
        yield


@pytest.mark.usefixtures("jobs")
class TestExercises(ExerciseRules):
    page = "22-troubleshooting.md"
    module = exercises
    context: ClassVar[Context] = {"larger": (amazon,)}


@pytest.mark.parametrize(
    ("machine", "gib"),
    [
        ("ml.m5.large", 8),
        ("ml.m5.xlarge", 16),
        ("ml.m5.2xlarge", 32),
        ("ml.r5.large", 16),
        ("x", 0),
    ],
)
def test_the_memory_of_a_machine(machine: str, gib: float) -> None:
    assert exercises._gib(machine) == gib
