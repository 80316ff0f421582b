"""tune(): what the SDK is told, and what only this side has."""

from __future__ import annotations

import json

import pytest

from GCP_helpers import cancel, storage, tune, wait
from GCP_helpers.session import Session
from lesson.jobs.studies import Space, between, one_of

SPACE: Space = {
    "learning_rate": between(0.0001, 0.1, scale="log"),
    "hidden": one_of("16", "64,32"),
    "patience": between(5, 50),
    "batch_size": one_of(64, 32),
}
OWN_IMAGE = "us-central1-docker.pkg.dev/my-project/images/torch:1"
pytestmark = pytest.mark.usefixtures("connection", "quick")


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


def test_each_trial_keeps_its_checkpoints_apart(connection: Session) -> None:
    study = tune({}, SPACE, trials=2)
    written = [
        storage.read_text(connection, f"{trial.artefacts}metrics.json") for trial in study.trials
    ]
    told = [json.loads(text or "")["checkpoints"] for text in written]
    assert (
        told == [trial.artefacts.replace("/model/", "/checkpoints/") for trial in study.trials]
        and len(set(told)) == 2
    )
