"""tune(): what the SDK is told, and what comes back, with real trials on the local cloud."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from GCP_helpers import cancel, cleanup, session, storage, tune, tuning, wait
from lesson import LessonError
from lesson.studies import NoResult, Space, between, one_of

SPACE: Space = {
    "learning_rate": between(0.0001, 0.1, scale="log"),
    "hidden": one_of("16", "64,32"),
    "patience": between(5, 50),
    "batch_size": one_of(64, 32),
}
OWN_IMAGE = "us-central1-docker.pkg.dev/my-project/images/torch:1"


@pytest.fixture(autouse=True)
def script(connection: session.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of train_nn.py."""
    monkeypatch.setattr(tuning, "FOLDER", Path(__file__).with_name("trial.py"))


def test_a_study_comes_back_with_its_trials_and_the_run_of_the_best(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = tune({"epochs": 3}, SPACE, trials=4)
    assert study.place == "Vertex AI (local cloud)" and study.state == "succeeded"
    assert [trial.number for trial in study.trials] == [1, 2, 3, 4]
    for trial in study.trials:
        assert trial.state == "succeeded" and not trial.reason and trial.seconds > 0
        rate = trial.values["learning_rate"]
        assert isinstance(rate, float) and trial.result == pytest.approx(abs(rate - 0.01))
        assert trial.values["hidden"] in ("16", "64,32") and trial.values["batch_size"] in (32, 64)
        assert isinstance(trial.values["patience"], int)
        assert trial.artefacts.endswith(f"/runs/{study.name}/{trial.number}/model/")
    assert study.best.result == min(trial.result or 1 for trial in study.trials)
    assert study.run and study.run.artefacts == study.best.artefacts
    assert study.run.loss == study.best.result and study.run.accuracy == 0.8
    assert f"--hidden={study.best.values['hidden']}" in study.run.metrics["flags"]
    assert "--epochs=3" in study.run.metrics["flags"]
    billed = sum(30 * math.ceil(one.seconds / 30) for one in study.trials)  # each trial by itself
    assert study.cost == pytest.approx(billed * 0.21849885 / 3600)
    out = capsys.readouterr().out
    assert "about $0.44 an hour" in out and "4 trials, 2 at a time" in out
    assert "best validation_loss" in out and "learning_rate" in out


def test_the_sdk_is_told_what_the_verb_was_told() -> None:
    study = tune(
        {"epochs": 3}, SPACE, metric="validation_accuracy", trials=3, parallel=1,
        machine="n1-standard-8", replicas=2, gpu="T4", spot=True, algorithm="random", wait=False,
    )  # fmt: skip
    job = study.job.gca_resource
    assert (job.max_trial_count, job.parallel_trial_count) == (3, 1)
    (metric,) = job.study_spec.metrics
    assert (metric.metric_id, metric.goal.name) == ("validation_accuracy", "MAXIMIZE")
    assert job.study_spec.algorithm.name == "RANDOM_SEARCH"
    assert job.study_spec.measurement_selection_type.name == "LAST_MEASUREMENT"
    chief, workers = job.trial_job_spec.worker_pool_specs
    assert (chief.replica_count, workers.replica_count) == (1, 1)
    assert chief.machine_spec.machine_type == "n1-standard-8"
    assert chief.machine_spec.accelerator_type.name == "NVIDIA_TESLA_T4"
    assert job.trial_job_spec.scheduling.strategy.name == "SPOT"
    assert job.trial_job_spec.scheduling.timeout.total_seconds() == 24 * 3600
    assert study.request["HyperparameterTuningJob"]["max_trial_count"] == 3
    assert study.space == SPACE and study.goal == "maximize"
    cancel(study.name)  # what trials do is shown elsewhere
    assert wait(study).request == study.request


@pytest.mark.parametrize("image", [None, pytest.param(OWN_IMAGE, marks=pytest.mark.slow)])
def test_what_a_trial_adds_reaches_the_script_in_any_image(image: str | None) -> None:
    blank = "two words, and a ' too"
    study = tune({"note": blank}, SPACE, trials=1, container_uri=image)
    assert study.run
    flags = study.run.metrics["flags"]
    assert f"--note={blank}" in flags and f"--patience={study.best.values['patience']}" in flags


def test_replicas_of_a_trial_train_one_model_and_report_what_it_has(
    data: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "FOLDER", Path(__file__).parents[2] / "training")
    space: Space = {"learning_rate": one_of(0.01)}
    study = tune({**data, "epochs": 5}, space, trials=1, parallel=1, replicas=2)
    assert study.run and study.run.metrics["world_size"] == 2
    assert study.best.result == pytest.approx(study.run.metrics["loss"], abs=1e-4)


def test_each_trial_keeps_its_checkpoints_apart() -> None:
    study = tune({}, SPACE, trials=2)
    told = [
        json.loads((storage.read_text(f"{trial.artefacts}metrics.json")) or "")["checkpoints"]
        for trial in study.trials
    ]
    assert (
        told == [trial.artefacts.replace("/model/", "/checkpoints/") for trial in study.trials]
        and len(set(told)) == 2
    )


def test_trials_that_crash_are_explained_with_the_scripts_own_words() -> None:
    with pytest.raises(NoResult) as failed:
        tune({"sleep": "long"}, SPACE, trials=2)
    assert "error: argument --sleep: invalid float value: 'long'" in str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_wrong_tag_is_let_through_and_the_study_says_which_tags_arrived(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(NoResult, match="all 2 trials failed") as failed:
        tune({}, SPACE, metric="validation_acuracy", trials=2)
    assert "those that arrived: validation_accuracy, validation_loss" in str(failed.value)
    for trial in failed.value.study.trials:
        assert trial.state == "failed" and "No metric of the tag validation_acuracy" in trial.reason
    assert capsys.readouterr().out.count("No metric of the tag validation_acuracy") == 2


def test_cleanup_deletes_a_study_with_the_jobs_of_its_trials_and_what_they_wrote(
    connection: session.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    from google.cloud import aiplatform

    session.client().create_bucket("there-before")
    session.connect("there-before")
    study = tune({}, SPACE, trials=2)
    cleanup(dry_run=False)
    assert f"deleting job {study.name} (succeeded)" in capsys.readouterr().out
    names = {job.resource_name for job in aiplatform.CustomJob.list()}
    assert not names & {trial.name for trial in study.trials}
    assert not [*session.client().list_blobs("there-before")]


@pytest.mark.parametrize(
    ("space", "more", "sentence"),
    [
        ({}, {}, "space is empty"),
        ({"epochs": between(1, 9)}, {}, "epochs is in args and in space"),
        (SPACE, {"algorithm": "hyperband"}, "Vertex AI has bayesian, random, grid"),
        (SPACE, {"algorithm": "grid"}, "learning_rate: a grid"),
        (SPACE, {"goal": "most"}, "name minimize or maximize"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_is_sent(
    space: Any, more: dict[str, Any], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LessonError, match=sentence):
        tune({"epochs": 3}, space, **more)
    assert "an hour" not in capsys.readouterr().out
