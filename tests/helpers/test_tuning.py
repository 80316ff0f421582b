"""tune(): what comes back, with real trials on the local cloud, and the verbs on its studies."""

from __future__ import annotations

import math
from typing import Any

import boto3
import pytest
from google.cloud import aiplatform

from lesson import LessonError
from lesson.jobs.studies import NoResult, Space, between, one_of
from tests.helpers.sides import Side, both_sides

SPACE: Space = {
    "learning_rate": between(0.0001, 0.1, scale="log"),
    "hidden": one_of("16", "64,32"),
    "patience": between(5, 50),
}
pytestmark = pytest.mark.usefixtures("connection", "quick")


@pytest.mark.parametrize(
    ("side", "hour", "increment", "digits", "results"),
    [
        # The log has four digits, and its last line counts.
        ("Google", 0.21849885, 30, 0, "{number}/model/"),
        pytest.param("Amazon", 0.23, 1, 1e-4, "{name}/output/model.tar.gz", marks=pytest.mark.slow),
    ],
    indirect=["side"],
)
def test_a_study_comes_back_with_its_trials_and_the_run_of_the_best(
    side: Side,
    hour: float,
    increment: int,
    digits: float,
    results: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # SageMaker has words for choices, so numbers come back as such.
    choices = one_of(64, 32) if side.cloud == "Google" else one_of("64", "32")
    space = SPACE | {"batch_size": choices}
    study = side.helpers.tune({"epochs": 3}, space, trials=4)
    assert study.place == f"{side.service} (local cloud)" and study.state == "succeeded"
    assert study.metric == "validation_loss" and study.space == space
    assert [trial.number for trial in study.trials] == [1, 2, 3, 4]
    for trial in study.trials:
        assert trial.state == "succeeded" and not trial.reason and trial.seconds > 0
        rate = trial.values["learning_rate"]
        assert isinstance(rate, float)
        assert trial.result == pytest.approx(abs(rate - 0.01), rel=1e-9, abs=digits)
        assert trial.values["hidden"] in ("16", "64,32")
        assert trial.values["batch_size"] in choices.values
        assert isinstance(trial.values["patience"], int)
        place = results.format(number=trial.number, name=trial.name)
        assert trial.artefacts.endswith(f"/runs/{study.name}/{place}")
    assert study.best.result == min(trial.result or 1 for trial in study.trials)
    assert study.run and study.run.artefacts == study.best.artefacts
    assert study.run.loss == pytest.approx(study.best.result, rel=0, abs=digits)
    assert study.run.accuracy == 0.8
    flags = " ".join(study.run.metrics["flags"]).replace("=", " ")
    assert f"--hidden {study.best.values['hidden']}" in flags and "--epochs 3" in flags
    # Each trial is billed by itself.
    billed = sum(increment * math.ceil(one.seconds / increment) for one in study.trials)
    assert study.cost == pytest.approx(billed * hour / 3600)
    out = capsys.readouterr().out
    assert f"about {side.two_cost}" in out and "4 trials, 2 at a time" in out
    assert "best validation_loss" in out and "learning_rate" in out
    said = "SageMaker reads validation_loss out of the log of each trial, as validation:loss"
    assert (said in out) == (side.cloud == "Amazon")


@both_sides(fast="Google")
def test_wait_takes_the_study_or_its_name_and_the_list_has_one_job_of_it(
    side: Side, data: dict[str, str]
) -> None:
    verbs = side.helpers
    study = verbs.tune({}, SPACE, trials=2, wait=False)
    assert study.state in ("queued", "starting", "running") and study.run is None
    by_study, by_name = verbs.wait(study), verbs.wait(study.name)
    assert by_study.trials == by_name.trials and len(by_study.trials) == 2
    assert by_name.name == study.name
    verbs.train({**data, "epochs": 1}, wait=False)
    table = verbs.list_jobs()
    mine = table[table["name"].str.startswith(study.name)]
    assert [*mine["machine"]] == [f"2 trials on {side.machine}"]
    assert [*mine["state"]] == ["succeeded"]
    assert table["name"][0].startswith("train-nn-")


def test_cancel_stops_a_study_and_what_has_ended_stays(side: Side) -> None:
    verbs = side.helpers
    study = verbs.tune({"sleep": 1000}, SPACE, trials=9, wait=False)
    with pytest.raises(LessonError, match="not ended yet; cancel"):
        verbs.cleanup()
    verbs.cancel(study.name)
    ended = verbs.wait(study)
    assert ended.state == "cancelled" and ended.run is None and len(ended.trials) <= 2
    verbs.cancel(study)


@pytest.mark.parametrize(
    ("side", "more"),
    [
        ("Google", ""),
        ("Amazon", "/aws/sagemaker/TrainingJobs/logStreamNameFilter/tune-nn-"),
    ],
    indirect=["side"],
)
def test_trials_that_crash_are_explained_with_the_scripts_own_words(side: Side, more: str) -> None:
    with pytest.raises(NoResult) as failed:
        side.helpers.tune({"sleep": "long"}, SPACE, trials=2)
    said = str(failed.value)
    assert "error: argument --sleep: invalid float value: 'long'" in said and more in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("side", "missing", "arrived"),
    [
        (
            "Google",
            "No metric of the tag validation_acuracy",
            "those that arrived: validation_accuracy, validation_loss",
        ),
        (
            "Amazon",
            "did not write the objective metric validation:acuracy to its log",
            "those that did: validation:accuracy, validation:loss",
        ),
    ],
    indirect=["side"],
)
def test_a_wrong_metric_is_let_through_and_the_study_says_which_metrics_arrived(
    side: Side, missing: str, arrived: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NoResult, match="all 2 trials failed") as failed:
        side.helpers.tune({}, SPACE, metric="validation_acuracy", trials=2)
    assert arrived in str(failed.value)
    for trial in failed.value.study.trials:
        assert trial.state == "failed" and missing in trial.reason
    assert capsys.readouterr().out.count(missing) == 2


def test_cleanup_deletes_a_study_with_the_jobs_of_its_trials_and_what_they_wrote(
    side: Side, capsys: pytest.CaptureFixture[str]
) -> None:
    side.create_bucket("there-before")
    side.helpers.connect("there-before")
    study = side.helpers.tune({}, SPACE, trials=2)
    side.helpers.cleanup(dry_run=False)
    assert f"deleting job {study.name} (succeeded)" in capsys.readouterr().out
    if side.cloud == "Google":
        left = {job.resource_name for job in aiplatform.CustomJob.list()}
    else:
        listed = boto3.client("sagemaker").list_training_jobs(NameContains=study.name)
        left = {job["TrainingJobName"] for job in listed["TrainingJobSummaries"]}
    assert not left & {trial.name for trial in study.trials}
    assert not side.keys("there-before")


def test_files_of_this_machine_are_refused(side: Side) -> None:
    with pytest.raises(LessonError, match="names a file on this machine"):
        side.helpers.tune({"train": "train_data.npz"}, SPACE)


@pytest.mark.parametrize(
    ("side", "space", "more", "sentence"),
    [
        ("Google", {}, {}, "space is empty"),
        ("Amazon", {}, {}, "space is empty"),
        ("Google", {"epochs": between(1, 9)}, {}, "epochs is in args and in space"),
        ("Amazon", {"epochs": between(1, 9)}, {}, "epochs is in args and in space"),
        ("Google", SPACE, {"goal": "most"}, "name minimize or maximize"),
        ("Amazon", SPACE, {"goal": "most"}, "name minimize or maximize"),
        ("Google", SPACE, {"algorithm": "hyperband"}, "Vertex AI has bayesian, random, grid"),
        ("Google", SPACE, {"algorithm": "grid"}, "learning_rate: a grid"),
        ("Amazon", SPACE, {"algorithm": "best"},
         "SageMaker has bayesian, random, grid, hyperband"),
        ("Amazon", {"patience": between(1, 9)}, {"algorithm": "grid"},
         "SageMaker's grid takes one_of"),
    ],
    indirect=["side"],
)  # fmt: skip
def test_what_cannot_be_searched_is_refused_before_anything_is_sent(
    side: Side,
    space: Any,
    more: dict[str, Any],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(LessonError, match=sentence):
        side.helpers.tune({"epochs": 3}, space, **more)
    assert "an hour" not in capsys.readouterr().out
