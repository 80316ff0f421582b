"""Every check() of episode 14 rejects the blank and typical wrong answers."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from google.cloud import aiplatform

import GCP_helpers
from lesson import LessonError, preparation
from lesson.exercises import serving as exercises
from lesson.jobs.runs import Run
from local_cloud import Status
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules
from tests.lesson.sent_jobs import connected, google
from training import serve_nn

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "episodes" / "14-serving.md"
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> serve_nn.Predictor:
    """The program that answers, with a model of random weights."""
    data = preparation.prepare(ROOT / "data/titanic_train.csv", tmp_path_factory.mktemp("data"))
    with np.load(data.train) as archive:
        fitted = str(archive["preparation"])
    weights = torch.nn.Sequential(torch.nn.Linear(7, 1)).state_dict()
    saved = {"features": 7, "hidden": [], "model": weights, "preparation": fitted}
    return serve_nn.Predictor(saved, serve_nn.load_code(ROOT / "training"))


def billed(seen: list[tuple[float, int]]) -> float:
    return sum(count * (later - now) for (now, count), (later, _) in itertools.pairwise(seen))


def variants(*weights: float) -> dict[str, Any]:
    """What describe_endpoint says of an endpoint with these weights."""
    return {"ProductionVariants": [{"VariantName": "a", "DesiredWeight": each} for each in weights]}


FIXED = list(exercises.FIXED)
ANSWERS: Answers = {
    "fixed": (
        [
            FIXED,
            [*FIXED[:2], FIXED[2] | {"Fare": 12.5}],
            [*FIXED[:2], FIXED[2] | {"Age": str(FIXED[2]["Age"])}],  # the endpoint takes it
        ],
        [
            ([FIXED[0], FIXED[1] | {"Sex": "Male"}, FIXED[2]], "instance 1: Sex is"),
            ([*FIXED[:2], FIXED[2] | {"Embarked": "Southampton"}], "choose"),
            ([*FIXED[:2], {"Pclass": 2, "Sex": "female", "Embarked": "S"}], "no Age any more"),
            ([FIXED[0], FIXED[2], FIXED[1]], "another passenger"),
            (FIXED[:1], "all 3"),
            ("male", "a list of passengers"),
        ],
    ),
    "rollout": (
        ["BDAE", "b, d, a, e"],
        [
            ("DBAE", "nothing to compare"),
            ("BADE", "nobody has looked"),
            ("BDEA", "cannot be undeployed"),
            ("BDAC", "every program"),
            ("BDA", "four of the five"),
        ],
    ),
    "billed": (
        [billed],
        [
            (lambda seen: seen[-1][0] - seen[0][0], "one replica, however many"),
            (
                lambda seen: max(n for _, n in seen) * (seen[-1][0] - seen[0][0]),
                "from the beginning to the end",
            ),
            (lambda seen: sum(count for _, count in seen), "are 30 seconds"),
            (lambda seen: None, "returns nothing"),
            (46, "a function"),
        ],
    ),
    "callers": (
        ["aiplatform.endpoints.predict", " aiplatform.endpoints.predict "],
        [
            ("sagemaker:InvokeEndpoint", "on SageMaker"),
            ("roles/owner", "more than one"),
            ("aiplatform.endpoints.*", "more than one"),
            ("predict", "with dots"),
        ],
    ),
    "standing": (
        [27.28, 2 * 2 * 0.11 * 62],
        [
            (0, "not for its requests"),
            (13.64, "also the one with few"),
            (15.0, "a tenth of a machine"),
            (6.82, "how many are there"),
            (0.44, "one hour"),
            (62, "multiply"),
        ],
    ),
    "halves": (
        [variants(1, 1), variants(50, 50)],
        [
            (variants(90, 10), "90 % and 10 %"),
            (variants(1), "not 2"),
            (variants(0, 0.5), "0 % and 100 %"),
            ("InService", "describe_endpoint"),
        ],
    ),
}


@pytest.fixture(scope="class")
def endpoints(
    request: pytest.FixtureRequest,
    cloud: Status,
    predictor: serve_nn.Predictor,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """An endpoint whose requests are moved, with what is said on the way; and an empty one."""

    def predict(instances: Any) -> None:
        try:
            predictor.rows(instances)
        except serve_nn.BadRequest as refused:
            raise LessonError(str(refused)) from None

    folder = tmp_path_factory.mktemp("endpoints")
    with connected(folder):
        data = preparation.prepare(ROOT / "data/titanic_train.csv", folder / "data")
        train, val = GCP_helpers.upload(data.train, data.val, prefix="data")
        run = GCP_helpers.train({"train": train, "val": val, "epochs": 1})
        assert isinstance(run, Run)
        endpoint: Any = GCP_helpers.deploy(run)
        GCP_helpers.deploy(run, endpoint=endpoint, traffic=10)
        old, new = (each.id for each in endpoint.list_models())
        request.cls.context = {"moved": (new, google), "fixed": (predict,)}

        def said() -> str:
            with pytest.MonkeyPatch.context() as changed:
                printed = io.StringIO()
                changed.setattr("sys.stdout", printed)
                exercises.moved.check(endpoint, new, google)
            return printed.getvalue()

        request.cls.on_the_way = [said()]
        endpoint.update(traffic_split={new: 100})
        request.cls.on_the_way.append(said())
        endpoint.undeploy(deployed_model_id=old)
        empty = aiplatform.Endpoint.create(display_name="empty")
        request.cls.answers = ANSWERS | {
            "moved": ([endpoint], [(empty, "is gone"), (new, "the answer is the endpoint")])
        }
        yield
        empty.delete()
        GCP_helpers.cleanup(dry_run=False)


@pytest.mark.usefixtures("endpoints")
class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    context: ClassVar[Context]
    on_the_way: ClassVar[list[str]]

    def test_what_is_missing_of_a_move_is_told(self) -> None:
        first, second = self.on_the_way
        assert first.startswith("Not yet: the new version gets 10 % of the requests")
        assert second.startswith("Not yet: the old version gets no requests, and costs as much")


def test_the_page_describes_the_weekend_that_the_exercise_calculates_with() -> None:
    assert "An endpoint has two versions" in TEXT and "at least two replicas" in TEXT
    assert f"{exercises.HOURLY} dollars an hour" in TEXT and f"{exercises.HOURS} hours" in TEXT
