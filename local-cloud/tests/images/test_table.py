"""The names of images: which environment a URI has."""

from __future__ import annotations

import pytest

from local_cloud.images import table

ECR = "763104351884.dkr.ecr.eu-west-1.amazonaws.com"
VERTEX = "docker.pkg.dev/vertex-ai"


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        (f"us-{VERTEX}/training/sklearn-cpu.1-6:latest", "training/sklearn-cpu.1-6"),
        (f"asia-{VERTEX}/prediction/sklearn-cpu.1-6:latest", "prediction/sklearn-cpu.1-6"),
        (f"europe-{VERTEX}/training/pytorch-gpu.2-4.py310", "training/pytorch-xla.2-4.py310"),
        (f"us-{VERTEX}/prediction/pytorch-gpu.2-4:latest", "prediction/pytorch-cpu.2-4"),
        ("gcr.io/cloud-aiplatform/prediction/sklearn-cpu.1-5", "prediction/sklearn-cpu.1-5"),
        (
            "eu.gcr.io/cloud-aiplatform/prediction/sklearn-cpu.1-5:v1.2",
            "prediction/sklearn-cpu.1-5",
        ),
        (
            "us-docker.pkg.dev/cloud-aiplatform/training/sklearn-cpu.1-6@sha256:0ab1",
            "training/sklearn-cpu.1-6",
        ),
        (f"{ECR}/pytorch-training:2.10.0-gpu-py313-cu130-ubuntu22.04-sagemaker", None),
        (f"{ECR}/pytorch-training:2.10.0-cpu-py313", "pytorch-training:2.10.0"),
        (f"{ECR}/sagemaker-scikit-learn:1.4-2-cpu-py3", "sagemaker-scikit-learn:1.4-2"),
        (f"{ECR}/sagemaker-xgboost:1.7-1", "sagemaker-xgboost:1.7-1"),
        ("sagemaker-xgboost:1.7-1", "sagemaker-xgboost:1.7-1"),
    ],
)
def test_the_same_image_in_every_registry_and_with_or_without_a_gpu(
    uri: str, name: str | None
) -> None:
    image = table.find(uri)
    assert image and image.name == (name or "pytorch-training:2.10.0")


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "gcr.io/mine/prediction/sklearn-cpu.1-5",
        "me/pytorch-training:2.10.0",
        f"evil.example/{ECR}/pytorch-training:2.10.0",
        f"{ECR}/pytorch-training:2.10.01-cpu",
        f"us-{VERTEX}/training/sklearn-cpu.1-60:latest",
        "../../sagemaker-xgboost:1.7-1",
    ],
)
def test_no_other_image_has_an_environment(uri: str) -> None:
    assert table.find(uri) is None


def test_each_image_has_a_folder_of_its_own() -> None:
    folders = {image.folder for image in table.IMAGES}
    assert len(folders) == len(table.IMAGES)
    assert not [name for name in folders if "/" in name or ":" in name]
