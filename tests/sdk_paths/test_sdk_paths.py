"""The script sent alone, and with the folder of its companions, on each way that leads to a run.

Sent alone it trains, also as two replicas. Of the folder a companion is asked for, by
--checkpoint_every. However it is sent, it leaves the same model.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from local_cloud.control import Status
from tests.sdk_paths import sending
from tests.sdk_paths.sending import BUCKET, FOLDER, Results, Sending

pytestmark = [
    pytest.mark.slow,
    # SageMaker's SDK leaves its temporary folders to the garbage collector.
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]

FLAGS = {"epochs": 20, "patience": 0, "batch_size": 16}
SENT = {"file": FLAGS, "folder": FLAGS | {"checkpoint_every": 5}}
WAYS = {
    "CustomTrainingJob": sending.custom_training_job,
    "from_local_script": sending.from_local_script,
    "ModelTrainer": sending.model_trainer,
    "ModelTrainer-Torchrun": sending.model_trainer_with_torchrun,
    "estimator": sending.estimator,
    "torchrun": sending.torchrun,
    "run-magic": sending.run_magic,
}
# Each with one replica and with two, but %run, which is alone.
TABLE = [
    pytest.param(way, sent, replicas, id=f"{way}-{sent}-{replicas}")
    for way in WAYS
    for sent in SENT
    for replicas in (1, 2)
    if (way, replicas) != ("run-magic", 2)
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
    """One replica on this machine, under torchrun, without companions."""
    sent = sending.alone(data / "reference-file")
    return sending.torchrun(Sending(sent, "reference", 1, FLAGS, data))


@pytest.mark.parametrize(("way", "sent", "replicas"), TABLE)
def test_however_it_is_sent_it_leaves_one_model(
    data: Path, reference: Results, way: str, sent: str, replicas: int, tmp_path: Path
) -> None:
    what = FOLDER if sent == "folder" else sending.alone(tmp_path / "alone")
    name = f"{way}-{sent}-{replicas}".lower()
    metrics, weights = WAYS[way](Sending(what, name, replicas, SENT[sent], data))
    assert metrics["world_size"] == replicas
    assert [each["rows"] for each in metrics["replicas"]] == ROWS[replicas]
    assert metrics["configuration"]["epochs"] == FLAGS["epochs"]
    torch.testing.assert_close(weights, reference.weights, rtol=0, atol=1e-5)
