"""Models that version 3 of the SDK deploys, and those of registered packages."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.serving import JSON, Trained
from tests.amazon.sagemaker.support import ROLE
from tests.lesson_code import PASSENGERS, TRAINING

# The SDK leaves its temporary folders to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
    # It warns of its own default of a parameter that it has moved away from.
    pytest.mark.filterwarnings("ignore:The 'dependencies' parameter:DeprecationWarning"),
]


def package(trained: Trained) -> str:
    """A registered model; its ARN."""
    client, group = boto3.client("sagemaker"), serving.named("served-group")
    client.create_model_package_group(ModelPackageGroupName=group)
    package = client.create_model_package(
        ModelPackageGroupName=group,
        ModelApprovalStatus="Approved",
        InferenceSpecification={
            "Containers": [
                {
                    "Image": serving.IMAGE,
                    "ModelDataUrl": trained.data,
                    "Environment": {"A": "the package's", "B": "the package's"},
                }
            ],
            "SupportedContentTypes": [JSON],
            "SupportedResponseMIMETypes": [JSON],
        },
    )
    return str(package["ModelPackageArn"])


def test_a_registered_package_is_served(trained: Trained) -> None:
    client, name = boto3.client("sagemaker"), serving.named("model")
    container: Any = {"ModelPackageName": package(trained), "Environment": {"A": "the model's"}}
    client.create_model(ModelName=name, Containers=[container], ExecutionRoleArn=ROLE)
    with serving.endpoint(serving.configuration(serving.variant(name))) as endpoint:
        answer = serving.invoke(endpoint, trained.rows)["Body"]
        assert serving.probabilities(answer) == pytest.approx(trained.expected, abs=1e-6)


def test_a_model_builder_deploys(trained: Trained, tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core.training.configs import SourceCode
        from sagemaker.serve import ModelBuilder

    builder = ModelBuilder(
        image_uri=serving.IMAGE,
        s3_model_data_url=trained.bare,
        source_code=SourceCode(source_dir=str(TRAINING), entry_script="inference.py"),
        model_path=str(tmp_path),  # not in /tmp/sagemaker, which another user may own
        role_arn=ROLE,
        instance_type=serving.MACHINE,
    )
    model, name = serving.named("built"), serving.named("built")
    builder.build(model_name=model)
    endpoint: Any = builder.deploy(endpoint_name=name, wait=False)  # waiting, it sleeps for 30 s
    endpoint.wait_for_status("InService", poll=1)
    body = json.dumps({"instances": PASSENGERS})
    content = json.loads(endpoint.invoke(body=body, content_type=JSON).body.read())
    assert serving.probabilities(content) == pytest.approx(trained.expected, abs=1e-6)
    endpoint.refresh()
    assert endpoint.production_variants[0].current_instance_count == 1
    endpoint.delete()
    serving.gone(name)


@pytest.mark.slow
def test_a_transformer_scores_a_file(trained: Trained) -> None:
    with warnings.catch_warnings(action="ignore"):
        from sagemaker.core.transformer import Transformer

    s3, name = boto3.client("s3"), serving.named("scored")
    lines = "".join(f"{json.dumps(each)}\n" for each in PASSENGERS)
    s3.put_object(Bucket=serving.BUCKET, Key=f"{name}/in/a.jsonl", Body=lines.encode())
    transformer = Transformer(
        model_name=serving.model(trained.data),
        instance_count=1,
        instance_type=serving.MACHINE,
        strategy="MultiRecord",
        assemble_with="Line",
        accept="application/jsonlines",
        output_path=f"s3://{serving.BUCKET}/{name}/out",
    )
    transformer.transform(
        data=f"s3://{serving.BUCKET}/{name}/in/",
        content_type="application/jsonlines",
        split_type="Line",
        wait=False,
    )
    job: Any = transformer.latest_transform_job
    job.wait(poll=1)
    assert job.transform_job_status == "Completed"
    body = s3.get_object(Bucket=serving.BUCKET, Key=f"{name}/out/a.jsonl.out")["Body"].read()
    chances = [json.loads(line)["probability"] for line in body.splitlines()]
    assert chances == pytest.approx(trained.expected, abs=1e-6)
