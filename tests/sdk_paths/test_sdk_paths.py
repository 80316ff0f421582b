"""The script sent alone, and with the folder that it is in, on each way that leads to a run.

However it is sent, as one replica or two, in a job or as a tuner's trial, it leaves the same model,
with the rows of each replica in metrics.json. On machines that are taken away it loses nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import local_cloud
from local_cloud import Status
from tests.sdk_paths import sending
from tests.sdk_paths.sending import BUCKET, FOLDER, RATES, Results, Sending, Trial

pytestmark = [
    pytest.mark.slow,
    # SageMaker's SDK leaves its temporary folders to the garbage collector.
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]

FLAGS = {"epochs": 20, "patience": 0, "batch_size": 16, "checkpoint_every": 5}
SENT = ("file", "folder")
WAYS = {
    "CustomTrainingJob": sending.custom_training_job,
    "from_local_script": sending.from_local_script,
    "ModelTrainer": sending.model_trainer,
    "ModelTrainer-Torchrun": sending.model_trainer_with_torchrun,
    "estimator": sending.estimator,
    "torchrun": sending.torchrun,
    "python": sending.python,
    "run-magic": sending.run_magic,
}
# Each with one replica and with two, but python and %run, which start one.
TABLE = [
    pytest.param(way, sent, replicas, id=f"{way}-{sent}-{replicas}")
    for way in WAYS
    for sent in SENT
    for replicas in (1, 2)
    if replicas == 1 or way not in ("python", "run-magic")
]
ROWS = {
    1: [{"start": 0, "stop": 41}],
    2: [{"start": 0, "stop": 20}, {"start": 20, "stop": 41}],
}


@pytest.fixture(scope="module")
def data(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 41 rows to train on, which are in a bucket of either cloud, too."""
    with warnings.catch_warnings(action="ignore"):
        import boto3
        from google.cloud import aiplatform, storage

    folder = tmp_path_factory.mktemp("sdk-paths")
    X = np.random.default_rng(0).standard_normal((41, 7))
    y = (X[:, 0] > 0).astype(int)
    np.savez(folder / "train_data.npz", X_train=X, y_train=y)
    np.savez(folder / "val_data.npz", X_val=X[:20], y_val=y[:20])
    s3, bucket = boto3.client("s3"), storage.Client().create_bucket(BUCKET)
    s3.create_bucket(Bucket=BUCKET)
    for path in folder.glob("*.npz"):
        s3.upload_file(str(path), BUCKET, path.name)
        bucket.blob(path.name).upload_from_filename(str(path))
    aiplatform.init(project="sdk-paths", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    return folder


@pytest.fixture(scope="module")
def reference(data: Path) -> Results:
    """One replica on this machine, of the file alone."""
    sent = sending.alone(data / "reference-file")
    return sending.python(Sending(sent, "reference", 1, FLAGS, data))


def what(sent: str, folder: Path) -> Path:
    """What is sent: the folder, or the file alone."""
    return FOLDER if sent == "folder" else sending.alone(folder / "alone")


@pytest.mark.parametrize(("way", "sent", "replicas"), TABLE)
def test_however_it_is_sent_it_leaves_one_model(
    data: Path, reference: Results, way: str, sent: str, replicas: int, tmp_path: Path
) -> None:
    name = f"{way}-{sent}-{replicas}".lower()
    results = WAYS[way](Sending(what(sent, tmp_path), name, replicas, FLAGS, data))
    assert results.metrics["configuration"]["epochs"] == FLAGS["epochs"]
    trained_as(replicas, results.metrics)
    torch.testing.assert_close(results.weights, reference.weights, rtol=0, atol=1e-6)


def trained_as(replicas: int, metrics: dict[str, Any]) -> None:
    """Check that so many replicas trained one model, each with its own rows."""
    assert metrics["world_size"] == replicas
    assert [each["rows"] for each in metrics["replicas"]] == ROWS[replicas]


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("sent", SENT)
@pytest.mark.parametrize(
    ("tuner", "state"),
    [(sending.vertex_tuner, "SUCCEEDED"), (sending.sagemaker_tuner, "Succeeded")],
    ids=["HyperparameterTuningJob", "HyperparameterTuner"],
)
def test_each_trial_of_a_tuner_counts_and_is_the_model_of_its_flags(
    data: Path,
    reference: Results,
    tuner: Callable[[Sending], list[Trial]],
    state: str,
    sent: str,
    replicas: int,
    tmp_path: Path,
) -> None:
    name = f"{tuner.__name__}-{sent}-{replicas}".replace("_", "-")
    trials = tuner(Sending(what(sent, tmp_path), name, replicas, FLAGS, data))
    assert [trial.state for trial in trials] == [state] * len(RATES)
    assert sorted(trial.rate for trial in trials) == RATES
    for trial in trials:
        trained_as(replicas, trial.results.metrics)
        assert trial.loss == pytest.approx(trial.results.metrics["loss"], abs=1e-4)
        if trial.rate == RATES[0]:
            weights = trial.results.weights
            torch.testing.assert_close(weights, reference.weights, rtol=0, atol=1e-6)


# Long enough for the job's log to be looked at between two of the stops.
LONG = {"epochs": 1000, "patience": 0, "batch_size": 8, "checkpoint_every": 50}
STOPS = [100, 300, 500, 700, 900]


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("way", ["CustomTrainingJob", "ModelTrainer", "ModelTrainer-Torchrun"])
def test_five_stops_of_a_spot_job_change_no_bit_of_the_model(
    data: Path, way: str, replicas: int
) -> None:
    name = f"spot-{way}-{replicas}".lower()
    undisturbed = sending.torchrun(Sending(FOLDER, f"{name}-here", replicas, LONG, data))
    local_cloud.rehearse(STOPS)
    results = WAYS[way](Sending(FOLDER, name, replicas, LONG, data, spot=True))
    assert len(results.metrics["epochs"]["resumed"]) == len(STOPS)
    assert torch.equal(results.weights, undisturbed.weights)
