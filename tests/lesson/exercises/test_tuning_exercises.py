"""Every check() of episode 12 rejects the blank and typical wrong answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from google.cloud import aiplatform
from google.cloud.aiplatform import hyperparameter_tuning as hpt

import AWS_helpers
from AWS_helpers import tuning as aws_tuning
from GCP_helpers import session as gcp_session
from lesson.exercises import tuning as exercises
from lesson.jobs.studies import Between, between, one_of
from lesson.show.search_plots import searches
from lesson.show.trial_plots import importance
from local_cloud import Status
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules
from tests.lesson.sent_jobs import IMAGE, amazon, connected, ended, google, on_google

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "episodes" / "12-tuning.md"
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())

SPACE = {
    "learning_rate": between(0.00001, 0.1, scale="log"),
    "dropout": between(0, 0.5),
    "momentum": between(0.9, 0.999, scale="reverse log"),
    "layers": between(1, 4),
}
ANSWERS: Answers = {
    "bill": (
        [12, 12.0],
        [
            (240, "how many hours"),
            (720, "by the hour"),
            (0.8, "every combination"),
            (6, "two at a time"),
            (4, "multiply"),
        ],
    ),
    "scales": (
        [SPACE],
        [
            (SPACE | {"learning_rate": between(0.00001, 0.1)}, "four powers of ten"),
            (SPACE | {"dropout": between(0, 0.5, scale="reverse log")}, "has no logarithm"),
            (SPACE | {"momentum": between(0.9, 0.999, scale="log")}, "ten times as many"),
            (SPACE | {"layers": between(1, 4, scale="log")}, "one layer more"),
            (SPACE | {"layers": between(1, 5)}, "from 1 to 4"),
            (SPACE | {"layers": "linear"}, "write between"),
            ({"learning_rate": SPACE["learning_rate"]}, "'dropout'"),
            ("BACA", "a dictionary"),
        ],
    ),
    "pairs": (
        [lambda one, other: sum(a < b for a, b in zip(one, other, strict=True))],
        [
            (lambda one, other: sum(a > b for a, b in zip(one, other, strict=True)), "other one"),
            (lambda one, other: sum(a <= b for a, b in zip(one, other, strict=True)), "a draw"),
            (lambda one, other: 3, "does not win"),
            (lambda one, other: 6, "returns 6"),
            (lambda one, other: None, "returns nothing"),
            (3, "a function"),
        ],
    ),
    "informed": (
        [8],
        [
            (14, "one at a time"),
            (16, "second eight"),
            (24, "without any result"),
            (3, "number of rounds"),
            (0, "sixteen"),
            (10, "go through"),
        ],
    ),
    "reading": (
        ["C", "c"],
        [("A", "at one end"), ("B", "beyond"), ("D", "importance"), ("E", "A, B, C")],
    ),
    "winner": (["C"], [("A", "average"), ("B", "one model in six"), ("D", "A, B, C")]),
    "enough": (
        [59],
        [
            (58, "94.9"),
            (60, "one less"),
            (20, "64 per cent"),
            (19, "do not add up"),
            (24, "71"),
            (90, "99 per cent"),
            (5, "all trials miss"),
        ],
    ),
}


def google_study(name: str, tag: str) -> Any:
    """A study as the page sends it, of one trial that reports without training."""
    custom_job = aiplatform.CustomJob.from_local_script(
        display_name=name,
        script_path=str(ROOT / "tests/GCP_helpers/trial.py"),
        container_uri=IMAGE,
        machine_type="n1-standard-4",
        base_output_dir=f"{gcp_session.current_session().uri}/runs/{name}",
    )
    study = aiplatform.HyperparameterTuningJob(
        display_name=name,
        custom_job=custom_job,
        metric_spec={tag: "minimize"},
        parameter_spec={"learning_rate": hpt.DoubleParameterSpec(min=0.001, max=0.1, scale="log")},
        max_trial_count=1,
        parallel_trial_count=1,
    )
    with suppress(RuntimeError):  # no trial counted
        study.run()
    return study


@pytest.fixture(scope="class")
def studies(
    request: pytest.FixtureRequest, cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Studies as learners send them, and what is said about each."""
    folder = tmp_path_factory.mktemp("studies")
    rates, wide = (between(0.0001, 0.1, scale=scale) for scale in ("log", "linear"))
    with connected(folder), pytest.MonkeyPatch.context() as changed:
        changed.setattr(aws_tuning, "FOLDER", ROOT / "tests/AWS_helpers/trial")
        tune = partial(AWS_helpers.tune, {}, parallel=2)
        own = tune({"learning_rate": rates}, trials=6)
        job = ended(google, on_google(folder, "titanic-fixed"))
        request.cls.answers = ANSWERS | {
            "tag": (
                [google_study("titanic-fixed", "validation_loss")],
                [
                    (google_study("titanic-fixed", "val_loss"), "which tags arrived"),
                    (job, "not a study"),
                    ("validation_loss", "is a job"),
                ],
            ),
            "own_study": (
                [own],
                [
                    (replace(own, space={"learning_rate": wide}), "choose its scale"),
                    (replace(own, space={**own.space, "hidden": one_of("16", "32")}), "one name"),
                    (tune({"learning_rate": rates}, trials=1), "sent 1 trials"),
                    (own.job, "what tune() returned"),
                ],
            ),
        }
        yield


@pytest.mark.usefixtures("studies")
class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    context: ClassVar[Context] = {"tag": (google,), "own_study": (amazon,)}


def test_the_chances_that_are_told_are_right() -> None:
    for trials, chance in ((19, 62), (20, 64), (24, 71), (90, 99)):
        assert round(100 * (1 - 0.95**trials)) == chance
    assert round(100 * (1 - 0.95**58), 1) == 94.9 and 1 - 0.95**59 >= 0.95


def test_the_page_describes_the_grid_that_the_exercise_calculates_with() -> None:
    assert "5 learning rates, 4 shapes of the hidden layers, 4 batch sizes and 3 values" in TEXT
    assert f"trial takes {exercises.MINUTES} minutes" in TEXT and exercises.TRIALS == 5 * 4 * 4 * 3


def test_the_recorded_study_asks_for_higher_learning_rates() -> None:
    study = exercises.recorded
    rates, shares = study.space["learning_rate"], importance(study)
    assert len(study.trials) == study.planned == 24 and isinstance(rates, Between)
    best = sorted(study.trials, key=lambda trial: trial.result or 0.0)[:3]
    assert all(float(trial.values["learning_rate"]) > 0.9 * rates.high for trial in best)
    assert shares["learning_rate"] == max(shares.values()) and shares["min_delta"] < 0.1


def test_searches_are_drawn_and_told_in_words(tmp_path: Path) -> None:
    tried = {"grid": [(0.001, 0.0), (0.001, 1.0)], "random": [(0.02, 0.5), (0.001, 0.4)]}
    picture = searches(tried, lambda rate, _: abs(rate - 0.02), tmp_path / "a" / "searches.png")
    assert picture.path.stat().st_size > 10_000
    assert "Grid: 2 trials with 1 learning rates; the best has 0.001" in picture.alt
    assert "Random: 2 trials with 2 learning rates; the best has 0.02" in picture.alt
