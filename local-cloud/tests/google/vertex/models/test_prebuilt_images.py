"""Google's prebuilt prediction images: the models they take answer on their contract."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import joblib
import numpy as np
import pytest
import torch
from google.api_core import exceptions
from sklearn.linear_model import LogisticRegression

PYTORCH = "us-docker.pkg.dev/vertex-ai/prediction/pytorch-cpu.2-4:latest"
HANDLER = """
import os
import torch
from ts.torch_handler.base_handler import BaseHandler

class Handler(BaseHandler):
    def initialize(self, context):
        path = os.path.join(context.system_properties["model_dir"], "weights.pt")
        self.model = torch.nn.Linear(3, 1)
        self.model.load_state_dict(torch.load(path, weights_only=True))

    def postprocess(self, data):
        return [{"sum": each} for each in super().postprocess(data[:, 0])]
"""


def deployed(model: Any) -> Any:
    return model.deploy(machine_type="n1-standard-2")


def test_a_scikit_learn_file_answers_as_the_model_does(
    aiplatform: ModuleType, tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((50, 3))
    classifier = LogisticRegression().fit(X, X[:, 0] > 0)
    joblib.dump(classifier, tmp_path / "any name.joblib")
    model = aiplatform.Model.upload_scikit_learn_model_file(
        str(tmp_path / "any name.joblib"), sklearn_version="1.5"
    )
    endpoint = deployed(model)
    answer = endpoint.predict(instances=X[:5].tolist()).predictions
    assert answer == classifier.predict(X[:5]).tolist()
    # github.com/googleapis/python-aiplatform/issues/514 and /pull/2036
    words = '400 "Prediction failed: Exception during sklearn prediction: .*"'
    with pytest.raises(exceptions.FailedPrecondition, match=words):
        endpoint.predict(instances=[["a", "b", "c"]])
    endpoint.delete(force=True)
    model.delete()


def test_a_torchserve_archive_answers_through_its_handler(
    aiplatform: ModuleType, tmp_path: Path
) -> None:
    layer = torch.nn.Linear(3, 1)
    torch.save(layer.state_dict(), tmp_path / "weights.pt")
    folder = tmp_path / "upload"
    folder.mkdir()
    manifest = {
        "model": {"modelName": "model", "handler": "own.py", "serializedFile": "weights.pt"}
    }
    with zipfile.ZipFile(folder / "model.mar", "w") as archive:
        archive.writestr("MAR-INF/MANIFEST.json", json.dumps(manifest))
        archive.writestr("own.py", HANDLER)
        archive.write(tmp_path / "weights.pt", "weights.pt")
    model = aiplatform.Model.upload(
        display_name="archive", artifact_uri=str(folder), serving_container_image_uri=PYTORCH
    )
    endpoint = deployed(model)
    rows = [[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]]
    answer = endpoint.predict(instances=rows).predictions
    expected = layer(torch.tensor(rows))[:, 0].tolist()
    assert [each["sum"] for each in answer] == pytest.approx(expected, abs=1e-6)
    endpoint.delete(force=True)
    model.delete()


OLDER = (
    "gcr.io/cloud-aiplatform/prediction/sklearn-cpu.0-24",
    "us-docker.pkg.dev/cloud-aiplatform/prediction/sklearn-cpu.0-24:latest",
)


def test_an_image_has_older_names(aiplatform: ModuleType, tmp_path: Path) -> None:
    X = np.array([[0.0], [1.0]])
    joblib.dump(LogisticRegression().fit(X, [0, 1]), tmp_path / "model.joblib")
    endpoint = aiplatform.Endpoint.create("older names")
    for image in OLDER:
        model = aiplatform.Model.upload(
            display_name="older", artifact_uri=str(tmp_path), serving_container_image_uri=image
        )
        endpoint.deploy(model, machine_type="n1-standard-2", traffic_percentage=100)
        assert endpoint.predict(instances=[[-9.0], [9.0]]).predictions == [0, 1]
    endpoint.delete(force=True)


@pytest.mark.parametrize(
    "image",
    [
        "us-docker.pkg.dev/vertex-ai/prediction/xgboost-cpu.1-7:latest",
        "gcr.io/cloud-aiplatform/prediction/xgboost-cpu.1-1:latest",
        "europe-docker.pkg.dev/cloud-aiplatform/prediction/xgboost-cpu.1-1",
        "us-central1-docker.pkg.dev/vertex-ai/prediction/xgboost-cpu.1-1@sha256:0ab1",
    ],
)
def test_xgboost_is_refused_by_name(aiplatform: ModuleType, tmp_path: Path, image: str) -> None:
    (tmp_path / "model.bst").write_bytes(b"booster")
    model = aiplatform.Model.upload(
        display_name="booster", artifact_uri=str(tmp_path), serving_container_image_uri=image
    )
    with pytest.raises(exceptions.MethodNotImplemented, match=r"xgboost-cpu\.1-.*not installed"):
        deployed(model)
    model.delete()
