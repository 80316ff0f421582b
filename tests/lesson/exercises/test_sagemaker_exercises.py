"""Every check() of episode 08 rejects the blank and typical wrong answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from AWS_helpers.costs import estimate_cost
from lesson.exercises import sagemaker_gpu_instances as exercises
from lesson.jobs.runs import Run
from local_cloud import Status
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules
from tests.lesson.sent_jobs import amazon, connected, ended, on_amazon

PAGE = Path(__file__).parents[3] / "episodes" / "08-sagemaker-gpu-instances.md"
HOUR = estimate_cost("ml.m5.xlarge").usd

ANSWERS: Answers = {
    "enabled": (
        [
            lambda model, X, device: model.to(device)(X.to(device)),
            lambda net, rows, where: net.to(where)(torch.zeros(10, 7, device=where)),
        ],
        [
            (lambda model, X, device: model(X), "nothing has been moved"),
            (lambda model, X, device: model.to(device)(X), "raises"),
            (lambda model, X, device: model(X.to(device)), "raises"),
            (lambda model, X, device: X.to(device), "the model's output"),
            (lambda model, X, device: device, "returns a device"),
            (lambda model, X: model(X), "raises TypeError"),
            (lambda model, X, device: None, "returns nothing"),
            ("predict", "a function"),
        ],
    ),
    "bill": (
        [estimate_cost("ml.m5.xlarge", hours=228 / 3600).usd, 0.0146],
        [
            (estimate_cost("ml.m5.xlarge", replicas=2, hours=228 / 3600).usd, "already"),
            (HOUR * 198.36 / 3600, "other column"),
            (HOUR * 2 * 198.36 / 3600, "other column"),
            (HOUR * 114 / 3600, "one of the two"),
            (HOUR * 228, "seconds"),
            (HOUR, "as hours"),
        ],
    ),
    "two_logs": (["C"], [("A", "split the rows"), ("B", "an exchange")]),
    "exchange": (
        ["CBDA", "c b d a", "C, B, D, A"],
        [
            ("CBAD", "copies differ"),
            ("CDBA", "no gradients"),
            ("BCDA", "there first"),
            ("DACB", "uses a gradient"),
            ("CEBA", "a number to read"),
            ("CBDAE", "a number to read"),
            ("CBA", "four of the five"),
            ("CBDD", "once"),
            ("backward, step", "from A to E"),
        ],
    ),
    "steps": (
        [
            lambda rows, batch, instances: -(-math.ceil(rows / instances) // batch),
            lambda rows, batch, instances: math.ceil(rows / (batch * instances)),
        ],
        [
            (lambda rows, batch, instances: math.ceil(rows / batch), "alone"),
            (lambda rows, batch, instances: rows / instances / batch, "left over"),
            (lambda rows, batch, instances: 18, "together"),
            (lambda rows, batch, instances: 5, "not nine"),
            (lambda rows, batch, instances: 2, "rows of one"),
            (5, "a function"),
        ],
    ),
}


@pytest.fixture(scope="class")
def jobs(
    request: pytest.FixtureRequest, cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Jobs as learners send them, and what is said about each."""
    folder = tmp_path_factory.mktemp("three")
    with connected(folder):
        send = partial(on_amazon, folder)
        three, two = (ended(amazon, send("titanic", instances=count)) for count in (3, 2))

        def run(job: Any, *stops: int) -> Run:
            """The job's run, of which each replica had the rows up to the next stop."""
            copy = tmp_path_factory.mktemp("results")
            parts = [{"rows": {"start": a, "stop": b}} for a, b in pairwise((0, *stops))]
            (copy / "metrics.json").write_text(json.dumps({"replicas": parts} if stops else {}))
            return Run("here", "m", 1.0, 0.8, 0.4, "s3://lesson/x", job=job, copy=copy)

        request.cls.answers = ANSWERS | {
            "proof": (
                [run(three, 189, 379, 569)],
                [
                    (run(two, 284, 569), "ran on 2"),
                    (run(three), "which script"),
                    (run(three, 569), "which script"),
                    (three, "what send() returns"),
                    (ended(amazon, send("titanic", instances=3, train="broken")), "has failed"),
                ],
            )
        }
        yield


@pytest.mark.usefixtures("jobs")
class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    context: ClassVar[Context] = {"proof": (amazon,)}


def test_the_exercises_calculate_with_the_price_of_the_helpers() -> None:
    assert exercises.HOURLY == HOUR


def test_the_page_quotes_what_was_measured() -> None:
    row = f"| 2 × `ml.m5.xlarge` | {exercises.WAITED} s | {exercises.BILLED} s |"
    assert row in PAGE.read_text(encoding="utf-8")
