"""Models to serve, and the calls of boto3 that serve them."""

from __future__ import annotations

import io
import itertools
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import torch

from testing.endpoints import gone as gone
from tests.amazon.sagemaker.support import ROLE, packed
from tests.lesson_code import TRAINING, load, own_predictions, train

BUCKET = "served-models"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-inference:2.6-cpu-py312"
MACHINE = "ml.m5.large"
NUMBERS = itertools.count(1)
JSON, CSV = "application/json", "text/csv"


class Trained(NamedTuple):
    """What there is of a trained model."""

    weights: Path  # model.pt
    bare: str  # URI of an archive with model.pt alone, as a training job leaves it
    data: str  # URI of one with our program in its folder code
    rows: list[list[float]]  # of the passengers
    expected: list[float]  # the model's own probabilities


def make_trained(folder: Path) -> Trained:
    """Train a model for a moment, and bring it to S3."""
    weights = train(folder)
    rows, expected = own_predictions(weights)
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    content = weights.read_bytes()
    names = ("inference.py", "serve_nn.py", "train_nn.py")
    code = {f"code/{name}": (TRAINING / name).read_text() for name in names}
    return Trained(
        weights,
        put({"model.pt": content}),
        put({"model.pt": content} | code),
        rows.tolist(),
        expected,
    )


def put(files: Mapping[str, str | bytes | Path]) -> str:
    """Bring a model.tar.gz of these files to S3; returns its URI."""
    key = f"{next(NUMBERS)}/model.tar.gz"
    boto3.client("s3").put_object(Bucket=BUCKET, Key=key, Body=packed(files))
    return f"s3://{BUCKET}/{key}"


def named(what: str) -> str:
    """A new name."""
    return f"{what}-{next(NUMBERS)}"


def model(data: str, image: str = IMAGE, **container: Any) -> str:
    """A new model; its name."""
    name = named("model")
    container_given = {"Image": image, "ModelDataUrl": data} | container
    boto3.client("sagemaker").create_model(
        ModelName=name, PrimaryContainer=container_given, ExecutionRoleArn=ROLE
    )
    return name


def variant(model_name: str, name: str = "AllTraffic", **more: Any) -> dict[str, Any]:
    """A variant of an endpoint configuration."""
    variant_given = {"VariantName": name, "ModelName": model_name, "InstanceType": MACHINE}
    return variant_given | {"InitialInstanceCount": 1} | more


def configuration(*variants: Mapping[str, Any], **more: Any) -> str:
    """A new endpoint configuration; its name."""
    name = named("config")
    boto3.client("sagemaker").create_endpoint_config(
        EndpointConfigName=name, ProductionVariants=list(variants), **more
    )
    return name


def settled(name: str, status: str = "InService") -> Any:
    """The endpoint's description when nothing happens to it any more."""
    client = boto3.client("sagemaker")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        endpoint = client.describe_endpoint(EndpointName=name)
        if endpoint["EndpointStatus"] not in ("Creating", "Updating"):
            assert endpoint["EndpointStatus"] == status, endpoint.get("FailureReason")
            return endpoint
        time.sleep(0.05)
    raise AssertionError(endpoint)


@contextmanager
def endpoint(config: str, status: str = "InService") -> Iterator[str]:
    """An endpoint for a while; its name."""
    client, name = boto3.client("sagemaker"), named("endpoint")
    client.create_endpoint(EndpointName=name, EndpointConfigName=config)
    try:
        settled(name, status)
        yield name
    finally:
        client.delete_endpoint(EndpointName=name)


def invoke(name: str, instances: Any, **more: Any) -> Any:
    """The runtime's response; its Body is read as JSON, if it is that."""
    wanted = {"ContentType": JSON, "Body": json.dumps({"instances": instances})} | more
    response = boto3.client("sagemaker-runtime").invoke_endpoint(EndpointName=name, **wanted)
    body = response["Body"].read()
    is_json = response["ContentType"].startswith(JSON)
    return response | {"Body": json.loads(body) if is_json else body}


def probabilities(answer: Mapping[str, Any]) -> list[float]:
    """Of serve_nn.py's predictions."""
    return [each["probability"] for each in answer["predictions"]]


def script(weights: Path) -> bytes:
    """TorchScript of the network that is in a model.pt."""
    network, saved = load(weights)
    jit: Any = torch.jit
    body = io.BytesIO()
    jit.save(jit.trace(network, torch.zeros(1, saved["features"])), body)
    return body.getvalue()
