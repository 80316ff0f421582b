"""tune(): what the SDK is told, and what comes back, with real trials on the local cloud."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from AWS_helpers import cancel, cleanup, jobs, session, tune, tuning, wait
from lesson import LessonError
from lesson.studies import NoResult, Space, between, one_of

SPACE: Space = {
    "learning_rate": between(0.0001, 0.1, scale="log"),
    "patience": between(5, 50),
    "hidden": one_of("16", "64,32"),
}


@pytest.fixture(autouse=True)
def script(connection: session.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of train_nn.py."""
    monkeypatch.setattr(jobs, "FOLDER", Path(__file__).with_name("trial"))


@pytest.mark.slow  # GCP_helpers/test_tuning.py is its like
def test_a_study_comes_back_with_its_trials_and_the_run_of_the_best(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = tune({"epochs": 3}, SPACE, trials=4)
    assert study.place == "SageMaker (local cloud)" and study.state == "succeeded"
    assert [trial.number for trial in study.trials] == [1, 2, 3, 4]
    for trial in study.trials:
        assert trial.state == "succeeded" and not trial.reason and trial.seconds > 0
        rate = trial.values["learning_rate"]  # the last line of the log counts, to four digits
        assert isinstance(rate, float) and trial.result == pytest.approx(abs(rate - 0.01), abs=1e-4)
        assert trial.values["hidden"] in ("16", "64,32")
        assert isinstance(trial.values["patience"], int)
        folder = f"/runs/{study.name}/{trial.name}/output/model.tar.gz"
        assert trial.artefacts.endswith(folder)
    assert study.best.result == min(trial.result or 1 for trial in study.trials)
    assert study.metric == "validation_loss" and study.space == SPACE
    assert study.run and study.run.artefacts == study.best.artefacts
    assert study.run.loss == pytest.approx(study.best.result, abs=1e-4)
    assert study.run.accuracy == 0.8
    assert str(study.best.values["hidden"]) in study.run.metrics["flags"]
    billed = sum(math.ceil(one.seconds) for one in study.trials)
    assert study.cost == pytest.approx(billed * 0.23 / 3600)
    out = capsys.readouterr().out
    assert "about $0.46 an hour" in out and "4 trials, 2 at a time" in out
    assert "SageMaker reads validation_loss out of the log of each trial, as validation:loss" in out
    assert "best validation_loss" in out and "learning_rate" in out


def test_the_sdk_is_told_what_the_verb_was_told(connection: session.Session) -> None:
    study = tune(
        {"epochs": 3}, SPACE, metric="validation_accuracy", trials=3, parallel=1,
        machine="ml.m5.large", replicas=2, spot=True, algorithm="random", wait=False,
    )  # fmt: skip
    asked = session.client("sagemaker").describe_hyper_parameter_tuning_job(
        HyperParameterTuningJobName=study.name
    )
    config, definition = asked["HyperParameterTuningJobConfig"], asked["TrainingJobDefinition"]
    assert config["Strategy"] == "Random" and config["TrainingJobEarlyStoppingType"] == "Off"
    limits = {"MaxNumberOfTrainingJobs": 3, "MaxParallelTrainingJobs": 1}
    assert config["ResourceLimits"].items() >= limits.items()
    objective = {"Type": "Maximize", "MetricName": "validation:accuracy"}
    assert config["HyperParameterTuningJobObjective"] == objective
    (rate,) = config["ParameterRanges"]["ContinuousParameterRanges"]
    assert rate["ScalingType"] == "Logarithmic"
    machines = {"InstanceType": "ml.m5.large", "InstanceCount": 2}
    assert definition["ResourceConfig"].items() >= machines.items()
    assert definition["EnableManagedSpotTraining"]
    assert definition["StoppingCondition"]["MaxRuntimeInSeconds"] == 24 * 3600
    folder = f"{connection.uri}/runs/{study.name}"
    assert definition["OutputDataConfig"]["S3OutputPath"] == folder
    assert definition["CheckpointConfig"]["S3Uri"] == f"{folder}/checkpoints"
    code = definition["StaticHyperParameters"]["sagemaker_submit_directory"]
    assert code.startswith(f"{folder}/tuning-")
    assert [*study.request] == ["ModelTrainer", "HyperparameterTuner", "tune"]
    cancel(study.name)  # what trials do is shown elsewhere
    assert study.goal == "maximize" and wait(study).request == study.request


def test_the_numbers_are_read_from_what_train_nn_prints() -> None:
    lines = (
        "epoch    50  loss 0.3884  validation loss 0.3937  accuracy 0.9200  0.0 s",
        "validation:accuracy = 0.9200",
        "validation:loss = 0.3937",
    )
    for name, number in (("validation:accuracy", "0.9200"), ("validation:loss", "0.3937")):
        found = [re.search(tuning.METRICS[name], line) for line in lines]
        assert {match[1] for match in found if match} == {number}
        assert sum(match is not None for match in found) == 2


@pytest.mark.slow
def test_replicas_of_a_trial_train_one_model(
    data: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "FOLDER", Path(__file__).parents[2] / "training")
    space: Space = {"learning_rate": one_of(0.01)}
    study = tune({**data, "epochs": 5}, space, trials=1, parallel=1, replicas=2)
    assert study.run and study.run.replicas == 2
    metrics = study.run.metrics
    assert metrics["world_size"] == 2
    first, second = (one["rows"] for one in metrics["replicas"])
    assert first["stop"] == second["start"]
    assert study.best.result == pytest.approx(metrics["loss"], abs=1e-4)


def test_a_wrong_metric_is_let_through_and_the_study_says_which_metrics_arrived(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(NoResult, match="all 2 trials failed") as failed:
        tune({}, SPACE, metric="validation_acuracy", trials=2)
    assert "did not write the objective metric validation:acuracy to its log" in str(failed.value)
    assert "those that did: validation:accuracy, validation:loss" in str(failed.value)
    assert [trial.state for trial in failed.value.study.trials] == ["failed"] * 2
    assert capsys.readouterr().out.count("the objective metric validation:acuracy") == 2


def test_trials_that_crash_are_explained_with_the_scripts_own_words() -> None:
    with pytest.raises(NoResult) as failed:
        tune({"sleep": "long"}, SPACE, trials=2)
    assert "argument --sleep: invalid float value: 'long'" in str(failed.value)
    assert "Its log: CloudWatch Logs, /aws/sagemaker/TrainingJobs, tune-nn-" in str(failed.value)


def test_cleanup_deletes_a_study_with_the_jobs_of_its_trials_and_what_they_wrote(
    connection: session.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.client("s3").create_bucket(Bucket="there-before")
    session.connect("there-before")
    study = tune({}, SPACE, trials=2)
    cleanup(dry_run=False)
    assert f"deleting job {study.name} (succeeded)" in capsys.readouterr().out
    left = session.client("sagemaker").list_training_jobs(NameContains=study.name)
    assert not left["TrainingJobSummaries"]
    assert "Contents" not in session.client("s3").list_objects_v2(Bucket="there-before")


def test_each_trial_keeps_its_checkpoints_apart(connection: session.Session) -> None:
    study = tune({}, SPACE, trials=2, spot=True)
    described = [
        session.client("sagemaker").describe_training_job(TrainingJobName=trial.name)
        for trial in study.trials
    ]
    folders = [found["CheckpointConfig"]["S3Uri"] for found in described]
    begin = f"{connection.uri}/runs/{study.name}/checkpoints/"
    assert len(set(folders)) == 2 and all(folder.startswith(begin) for folder in folders)


@pytest.mark.slow
def test_a_grid_is_all_combinations() -> None:
    space: Space = {"learning_rate": one_of(0.01, 0.1), "hidden": one_of("8", "16")}
    with pytest.raises(LessonError, match=r"4 combinations.*trials=4, or fewer values"):
        tune({}, space, trials=3, algorithm="grid")
    study = tune({}, space, algorithm="grid")
    tried = {(trial.values["learning_rate"], trial.values["hidden"]) for trial in study.trials}
    assert len(tried) == len(study.trials) == study.planned == 4


@pytest.mark.slow
def test_hyperband_lets_the_best_trial_come_to_its_end(
    data: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "FOLDER", Path(__file__).parents[2] / "training")
    space: Space = {"learning_rate": one_of(0.01)}
    study = tune({**data, "epochs": 20}, space, trials=1, algorithm="hyperband")
    assert study.best.state == "succeeded" and study.run


@pytest.mark.parametrize(
    ("space", "more", "sentence"),
    [
        ({}, {}, "space is empty"),
        ({"epochs": between(1, 9)}, {}, "epochs is in args and in space"),
        (SPACE, {"algorithm": "best"}, "SageMaker has bayesian, random, grid, hyperband"),
        ({"patience": between(1, 9)}, {"algorithm": "grid"}, "SageMaker's grid takes one_of"),
        (SPACE, {"goal": "most"}, "name minimize or maximize"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_is_sent(
    space: Any, more: dict[str, Any], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LessonError, match=sentence):
        tune({"epochs": 3}, space, **more)
    assert "an hour" not in capsys.readouterr().out
