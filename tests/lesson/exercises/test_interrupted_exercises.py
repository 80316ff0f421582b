"""Every check() of episode 11 rejects the blank and typical wrong answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

import local_cloud
from lesson.exercises import interrupted as exercises
from local_cloud import Status
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules
from tests.lesson.sent_jobs import amazon, connected, ended, on_amazon

PAGE = Path(__file__).parents[3] / "episodes" / "11-interrupted.md"

ANSWERS: Answers = {
    "missing": (
        ["ABD", "b, a, d", "A, B and D"],
        [
            ("AB", "stop early"),
            ("AD", "best epoch"),
            ("BD", "order"),
            ("A", "best epoch"),
            ("ABCD", "read again"),
            ("ABDE", "picture"),
            ("shuffle", "from A to E"),
        ],
    ),
    "order": (
        ["DEB", "d e b", "D, E, B"],
        [
            ("DBE", "without power"),
            ("ADEB", "no checkpoint"),
            ("DEAB", "no checkpoint"),
            ("EDB", "brought to the disk"),
            ("BDE", "not written yet"),
            ("CEB", "a half"),
            ("DE", "three of the five"),
            ("DEBB", "once"),
            ("write, rename", "from A to E"),
        ],
    ),
    "restart": (
        [200, "200"],
        [
            (170, "saves nothing"),
            (400, "finds the checkpoint"),
            (30, "so many are lost"),
            (199, "epoch 201"),
            (201, "epoch 201"),
            (150, "later one"),
            (250, "killed before"),
            (230, "how far"),
            (5, "the newest"),
        ],
    ),
    "spot": (
        [6.8, "$6.80"],
        [
            (4, "before the stop are paid"),
            (10, "list price"),
            (17, "at which price"),
            (1.2, "the first seven hours"),
            (2.8, "after it"),
            (12.8, "still"),
            (5, "how many hours"),
        ],
    ),
    "folder": (["C", "c."], [("A", "two learning rates"), ("B", "lost"), ("D", "A, B, C")]),
    "twice": (
        [20, 20.0],
        [
            (19, "count both"),
            (50, "before the next"),
            (100, "in the checkpoint"),
            (101, "second life"),
            (120, "in the checkpoint"),
            (7, "before the run was killed"),
        ],
    ),
    "every": (
        [
            lambda epoch, checkpoint, stops: max(1, round((2 * checkpoint * stops) ** 0.5 / epoch)),
            lambda epoch, checkpoint, stops: int((2 * checkpoint * stops) ** 0.5 // epoch),
        ],
        [
            (lambda *seconds: 1, "in checkpoints"),
            (lambda *seconds: 5, "in checkpoints"),
            (lambda *seconds: 90, "done again"),
            (lambda epoch, saving, stops: round((2 * saving * stops) ** 0.5), "counts epochs"),
            (lambda *seconds: 0, "from 1 up"),
            (lambda *seconds: 9.5, "whole number"),
            (lambda *seconds: 9, "more often"),
            (9, "a function"),
        ],
    ),
    "workers": (["B"], [("A", "empty"), ("C", "different models")]),
}


@pytest.fixture(scope="class")
def jobs(
    request: pytest.FixtureRequest, cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Jobs as learners send them, and what is said about each."""
    folder = tmp_path_factory.mktemp("spot")
    with connected(folder):
        send = partial(on_amazon, folder, "train-nn")
        local_cloud.rehearse(epoch=200)
        interrupted = ended(amazon, send(spot=True, checkpoint_every="10"))
        request.cls.answers = ANSWERS | {
            "spot_job": (
                [interrupted],
                [
                    (ended(amazon, send(checkpoint_every="20")), "at the full price"),
                    (ended(amazon, send(spot=True)), "no checkpoints"),
                    (ended(amazon, send(spot=True, checkpoint_every="20")), "rehearse()"),
                    (ended(amazon, send(spot=True, train="broken")), "has failed"),
                ],
            )
        }
        yield


@pytest.mark.usefixtures("jobs")
class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    context: ClassVar[Context] = {"spot_job": (amazon,)}


def test_the_page_describes_the_job_that_the_exercise_calculates_with() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"takes {exercises.EPOCH:.0f} seconds, a checkpoint {exercises.CHECKPOINT:.0f}" in page
    assert f"{exercises.LIST_PRICE:.2f} dollar an hour, or {exercises.SPOT_PRICE:.2f}" in page
    assert (exercises.NEEDED, exercises.BEFORE_STOP) == (10, 7) and "after seven hours" in page
    assert exercises.STOPS == 0.5 and "once in two hours" in page
