"""Images pulled from the package index: what is trained and served in them has their versions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from local_cloud.client.control import Status
from local_cloud.images.pulled_images import PulledImages
from local_cloud.images.table import BY_NAME
from tests.amazon.sagemaker import serving

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
GOOGLES, AMAZONS = "prediction/xgboost-cpu.1-7", "sagemaker-scikit-learn:1.4-2"
TENSORFLOW = "prediction/tf2-cpu.2-15"
NAMES = (GOOGLES, AMAZONS, TENSORFLOW)
URI = f"683313688378.dkr.ecr.us-east-1.amazonaws.com/{AMAZONS}-cpu-py3"
TRAIN = """
import sys
import numpy as np, xgboost
data = xgboost.DMatrix(np.arange(20.0).reshape(10, 2), label=np.arange(10.0))
xgboost.train({}, data, num_boost_round=5).save_model(sys.argv[1])
"""
SAVE = """
import sys
import tensorflow as tf

class Model(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def both(self, x):
        return {"sum": tf.reduce_sum(x, axis=1), "first": x[:, 0]}

model = Model()
tf.saved_model.save(model, sys.argv[1], signatures={"serving_default": model.both})
"""
PROGRAM = """
import os
import joblib, sklearn

def model_fn(folder):
    return joblib.load(os.path.join(folder, "model.joblib"))

def predict_fn(data, model):
    return [sklearn.__version__, *model.predict(data).tolist()]
"""
FIT = """
import sys
import joblib, numpy as np
from sklearn.linear_model import LogisticRegression
X = np.arange(10.0).reshape(-1, 1)
joblib.dump(LogisticRegression().fit(X, X[:, 0] > 4), sys.argv[1])
"""


@pytest.fixture(scope="module", autouse=True)
def images(cloud: Status) -> Iterator[PulledImages]:
    """All of them, pulled as a learner does it."""
    for name in NAMES:
        words = [sys.executable, "-m", "local_cloud", "images", "pull", name]
        subprocess.run(words, cwd=ROOT, check=True)
    pulled = PulledImages(cloud.home.images)
    yield pulled
    for name in NAMES:
        pulled.remove(BY_NAME[name])


def run_in(images: PulledImages, name: str, code: str, path: Path) -> None:
    python = images.folder / BY_NAME[name].folder / "environment/bin/python"
    subprocess.run([python, "-c", code, path], check=True)


def test_a_booster_is_served_by_the_prebuilt_image_of_vertex_ai(
    cloud: Status, images: PulledImages, tmp_path: Path
) -> None:
    from google.cloud import aiplatform, storage

    run_in(images, GOOGLES, TRAIN, tmp_path / "model.bst")
    storage.Client().create_bucket("really-pulled")
    aiplatform.init(project="p", location="us-central1", staging_bucket="gs://really-pulled")
    model = aiplatform.Model.upload_xgboost_model_file(
        str(tmp_path / "model.bst"), xgboost_version="1.7"
    )
    endpoint = model.deploy(machine_type="n1-standard-2")
    low, high = endpoint.predict(instances=[[0.0, 1.0], [18.0, 19.0]]).predictions
    assert low < 4 < high
    endpoint.delete(force=True)
    model.delete()


def test_a_saved_model_is_served_by_the_prebuilt_image_of_vertex_ai(
    cloud: Status, images: PulledImages, tmp_path: Path
) -> None:
    from google.cloud import aiplatform, storage

    run_in(images, TENSORFLOW, SAVE, tmp_path / "saved")
    storage.Client().create_bucket("saved-models")
    aiplatform.init(project="p", location="us-central1", staging_bucket="gs://saved-models")
    model = aiplatform.Model.upload(
        display_name="saved",
        artifact_uri=str(tmp_path / "saved"),
        serving_container_image_uri=f"us-docker.pkg.dev/vertex-ai/{TENSORFLOW}:latest",
    )
    endpoint = model.deploy(machine_type="n1-standard-2")
    answer = endpoint.predict(instances=[[1.0, 2.0], [3.0, 4.0]]).predictions
    assert answer == [{"sum": 3.0, "first": 1.0}, {"sum": 7.0, "first": 3.0}]
    assert endpoint.predict(instances=[{"x": [1.0, 2.0]}]).predictions == answer[:1]
    endpoint.delete(force=True)
    model.delete()


def test_a_classifier_is_served_by_the_prebuilt_image_of_sagemaker(
    cloud: Status, images: PulledImages, tmp_path: Path
) -> None:
    run_in(images, AMAZONS, FIT, tmp_path / "model.joblib")
    boto3.client("s3").create_bucket(Bucket=serving.BUCKET)
    content = (tmp_path / "model.joblib").read_bytes()
    data = serving.put({"model.joblib": content, "code/inference.py": PROGRAM})
    name = serving.model(data, URI)
    with serving.endpoint(serving.configuration(serving.variant(name))) as endpoint:
        answer = serving.invoke(endpoint, [], Body="[[1.0], [9.0]]")["Body"]
    assert answer == ["1.4.2", False, True]
