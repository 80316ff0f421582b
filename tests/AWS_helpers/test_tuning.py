"""tune(): what the SDK is told, and what only this side has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from AWS_helpers import cancel, session, tune, tuning, wait
from lesson import LessonError
from lesson.jobs.studies import Space, between, one_of

SPACE: Space = {
    "learning_rate": between(0.0001, 0.1, scale="log"),
    "patience": between(5, 50),
    "hidden": one_of("16", "64,32"),
}
pytestmark = pytest.mark.usefixtures("connection", "quick")


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
    definitions = tuning._definitions("validation:loss", "accuracy")
    regexes = {each["Name"]: each["Regex"] for each in definitions}
    for name, number in (("validation:accuracy", "0.9200"), ("validation:loss", "0.3937")):
        matches = [re.search(regexes[name], line) for line in lines]
        assert {match[1] for match in matches if match} == {number}
        assert sum(match is not None for match in matches) == 2


def test_each_trial_keeps_its_checkpoints_apart(connection: session.Session) -> None:
    study = tune({}, SPACE, trials=2, spot=True)
    described = [
        session.client("sagemaker").describe_training_job(TrainingJobName=trial.name)
        for trial in study.trials
    ]
    folders = [each["CheckpointConfig"]["S3Uri"] for each in described]
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
    monkeypatch.setattr(tuning, "FOLDER", Path(__file__).parents[2] / "training")
    space: Space = {"learning_rate": one_of(0.01)}
    study = tune({**data, "epochs": 20}, space, trials=1, algorithm="hyperband")
    assert study.best.state == "succeeded" and study.run
