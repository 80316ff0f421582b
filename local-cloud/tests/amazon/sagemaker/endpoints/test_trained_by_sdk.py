"""A model of a finished ModelTrainer of version 3 of the SDK, deployed by its ModelBuilder.

docs/limits-amazon.md says both: what fails, and what works.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.serving import JSON, MACHINE
from tests.amazon.sagemaker.support import IMAGE, ROLE

# The SDK leaves its temporary folders to the garbage collector, and warns of its own defaults.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:The 'dependencies' parameter:DeprecationWarning"),
]
BUCKET = "trained-by-the-sdk"
TRAINS = """
import os, pathlib
pathlib.Path(os.environ["SM_MODEL_DIR"], "factor.txt").write_text("3")
"""
SERVES = """
import json, pathlib

def model_fn(model_dir):
    return int(pathlib.Path(model_dir, "factor.txt").read_text())

def input_fn(body, content_type):
    return json.loads(body)

def predict_fn(numbers, factor):
    return [factor * number for number in numbers]
"""


@pytest.fixture(scope="module")
def trainer(cloud: object, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A trainer whose job has ended."""
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core.training.configs import Compute, OutputDataConfig, SourceCode
        from sagemaker.train import ModelTrainer

    folder = tmp_path_factory.mktemp("trained")
    (folder / "task.py").write_text(TRAINS)
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    made = ModelTrainer(
        training_image=IMAGE,
        source_code=SourceCode(source_dir=str(folder), entry_script="task.py"),
        compute=Compute(instance_type=MACHINE, instance_count=1),
        output_data_config=OutputDataConfig(s3_output_path=f"s3://{BUCKET}/out"),
        base_job_name="trained-by-the-sdk",
        role=ROLE,
    )
    made.train(wait=False)
    job = made._latest_training_job
    job.wait(poll=1)
    return made


def stored() -> list[str]:
    """The keys in the bucket."""
    objects = boto3.client("s3").list_objects_v2(Bucket=BUCKET)
    return [one["Key"] for one in objects["Contents"]]


def test_the_code_of_an_inference_spec_stays_here(
    trainer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the URI of the model for a folder here, and writes the code into that, if it can."""
    with warnings.catch_warnings(action="ignore"):
        from sagemaker.serve import InferenceSpec, ModelBuilder
        from sagemaker.serve.builder.schema_builder import SchemaBuilder
        from sagemaker.serve.utils.types import ModelServer

    class Factor(InferenceSpec):
        def load(self, model_dir: str) -> Any:
            return 3

        def invoke(self, input_object: Any, model: Any) -> Any:
            return input_object

    def build(**more: Any) -> None:
        ModelBuilder(
            model=trainer,
            inference_spec=Factor(),
            schema_builder=SchemaBuilder([1], [3]),
            image_uri=serving.IMAGE,
            role_arn=ROLE,
            instance_type=MACHINE,
            **more,
        ).build(model_name=serving.named("without-code"))

    monkeypatch.chdir(tmp_path)
    client, keys = boto3.client("sagemaker"), stored()
    before = client.list_models()["Models"]
    with pytest.raises(ImportError, match="Launching Triton"):
        build()
    assert client.list_models()["Models"] == before
    build(model_server=ModelServer.TORCHSERVE, dependencies={"auto": False})
    uri = trainer._latest_training_job.model_artifacts.s3_model_artifacts
    assert (tmp_path / uri.replace("//", "/") / "code" / "serve.pkl").is_file()
    assert stored() == keys


def test_code_and_the_uri_of_the_model_are_deployed(
    trainer: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with warnings.catch_warnings(action="ignore"):
        from sagemaker.core.training.configs import SourceCode
        from sagemaker.serve import ModelBuilder

    (tmp_path / "inference.py").write_text(SERVES)
    job = trainer._latest_training_job
    job.refresh()
    builder = ModelBuilder(
        s3_model_data_url=job.model_artifacts.s3_model_artifacts,
        source_code=SourceCode(source_dir=str(tmp_path), entry_script="inference.py"),
        # Not in /tmp/sagemaker, which another user may own.
        model_path=str(tmp_path_factory.mktemp("packed")),
        image_uri=serving.IMAGE,
        role_arn=ROLE,
        instance_type=MACHINE,
    )
    name = serving.named("trained")
    builder.build(model_name=name)
    endpoint: Any = builder.deploy(endpoint_name=name, wait=False)  # waiting, it sleeps for 30 s
    endpoint.wait_for_status("InService", poll=1)
    answer = endpoint.invoke(body=json.dumps([1, 2]), content_type=JSON)
    assert json.loads(answer.body.read()) == [3, 6]
    endpoint.delete()
    serving.gone(name)
