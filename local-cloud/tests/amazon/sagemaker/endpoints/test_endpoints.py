"""Models, endpoint configurations and endpoints, driven by boto3 alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from testing.request_bodies import BODIES, KINDS
from tests.amazon.sagemaker import serving
from tests.amazon.sagemaker.serving import CSV, ROLE, Trained
from tests.lesson_code import PASSENGERS

pytestmark = pytest.mark.usefixtures("cloud")

# A model that says who it is; its archive needs no weights.
SAYS = """
import json, os, signal, uuid
PROCESS = uuid.uuid4().hex
def model_fn(folder):
    return {name!r}
def predict_fn(data, model):
    if data == "fall":
        os.kill(os.getpid(), signal.SIGKILL)
    return {{"name": model, "data": data, "process": PROCESS}}
def input_fn(body, content_type):
    return json.loads(body)["instances"]
def output_fn(prediction, accept):
    return json.dumps(prediction), "application/json"
"""


@pytest.fixture(scope="module")
def client() -> Any:
    return boto3.client("sagemaker")


@pytest.fixture(scope="module")
def named(trained: Trained) -> dict[str, str]:
    """Models that say their name."""
    linked = {"code/newest.py": Path("inference.py")}  # archives that people make hold links
    return {
        name: serving.model(serving.put({"code/inference.py": SAYS.format(name=name)} | linked))
        for name in ("blue", "green")
    }


@pytest.fixture(scope="module")
def endpoint(trained: Trained) -> Iterator[str]:
    """One that serves the trained model."""
    config = serving.configuration(serving.variant(serving.model(trained.data)))
    with serving.endpoint(config) as name:
        yield name


def test_predictions_are_the_models_own_for_rows_and_passengers(
    endpoint: str, trained: Trained
) -> None:
    for instances in (trained.rows, PASSENGERS):
        answer = serving.invoke(endpoint, instances)
        assert serving.probabilities(answer["Body"]) == pytest.approx(trained.expected, abs=1e-6)
        assert answer["InvokedProductionVariant"] == "AllTraffic"
    table = "\n".join(",".join(map(str, row)) for row in trained.rows)
    answer = serving.invoke(endpoint, None, ContentType=CSV, Accept=CSV, Body=table)
    assert answer["ContentType"] == CSV
    numbers = [float(line.split(b",")[0]) for line in answer["Body"].splitlines()]
    assert numbers == pytest.approx(trained.expected, abs=1e-6)


def test_an_endpoint_is_described_as_the_service_does(client: Any, endpoint: str) -> None:
    description = client.describe_endpoint(EndpointName=endpoint)
    assert description["EndpointArn"].endswith(f":endpoint/{endpoint}")
    (variant,) = description["ProductionVariants"]
    assert variant["VariantName"] == "AllTraffic"
    assert (variant["CurrentInstanceCount"], variant["DesiredInstanceCount"]) == (1, 1)
    assert variant["CurrentWeight"] == 1.0
    assert variant["DeployedImages"][0]["SpecifiedImage"] == serving.IMAGE
    assert "FailureReason" not in description and "DataCaptureConfig" not in description
    (listed,) = client.list_endpoints(NameContains=endpoint)["Endpoints"]
    assert listed["EndpointStatus"] == "InService"
    logs = boto3.client("logs").filter_log_events(
        logGroupName=f"/aws/sagemaker/Endpoints/{endpoint}", logStreamNamePrefix="AllTraffic/"
    )
    assert "is named, not pulled" in logs["events"][0]["message"]


def test_a_refusal_of_the_model_is_its_own_answer(endpoint: str) -> None:
    with pytest.raises(ClientError) as refused:
        serving.invoke(endpoint, [PASSENGERS[0], {"Sex": "dog"}])
    response = refused.value.response
    assert response["Error"]["Code"] == "ModelError"
    assert response["OriginalStatusCode"] == 400
    assert "1 of 2 are bad; instance 1: Sex is" in response["OriginalMessage"]
    assert "(400) from primary" in response["Error"]["Message"]
    assert f"Endpoints/{endpoint}" in response["LogStreamArn"]


@given(body=BODIES, kind=KINDS, accept=KINDS, variant=st.sampled_from(["", "AllTraffic", "x"]))
def test_any_body_gets_predictions_or_a_reason(
    endpoint: str, body: bytes, kind: str, accept: str, variant: str
) -> None:
    wish = {"ContentType": kind, "Accept": accept, "TargetVariant": variant}
    wish = {name: value for name, value in wish.items() if value}
    client = boto3.client("sagemaker-runtime")
    try:
        answer = client.invoke_endpoint(EndpointName=endpoint, Body=body, **wish)
    except ClientError as refusal:
        error = refusal.response["Error"]
        assert error["Code"] in ("ModelError", "ValidationError") and error["Message"]
        assert refusal.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 424)
        if error["Code"] == "ModelError":
            assert refusal.response["OriginalStatusCode"] in (400, 415)
            assert json.loads(refusal.response["OriginalMessage"])["error"]["message"]
    else:
        assert answer["Body"].read()
        assert answer["InvokedProductionVariant"] == "AllTraffic"


@pytest.mark.parametrize(
    ("settings", "code", "words"),
    [
        ({"TargetVariant": "other"}, "ValidationError", "Variant other not found"),
        ({"TargetModel": "a.tar.gz"}, "NotImplemented", "multi-model"),
        ({"InferenceComponentName": "a"}, "NotImplemented", "inference components"),
    ],
)
def test_what_a_request_for_a_prediction_cannot_ask(
    endpoint: str, settings: dict[str, str], code: str, words: str
) -> None:
    with pytest.raises(ClientError, match=words) as refused:
        serving.invoke(endpoint, PASSENGERS, **settings)
    assert refused.value.response["Error"]["Code"] == code


def test_an_endpoint_that_is_not_there(client: Any) -> None:
    with pytest.raises(ClientError, match="Could not find endpoint") as refused:
        serving.invoke("nowhere", PASSENGERS)
    assert refused.value.response["Error"]["Code"] == "ValidationError"
    with pytest.raises(ClientError, match="Could not find endpoint") as refused:
        client.describe_endpoint(EndpointName="nowhere")
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    with pytest.raises(ClientError, match=r"not implemented.*InvokeEndpointAsync"):
        boto3.client("sagemaker-runtime").invoke_endpoint_async(
            EndpointName="nowhere", InputLocation="s3://a/b"
        )


def test_names_are_unique_and_what_is_deleted_is_gone(client: Any, trained: Trained) -> None:
    made = serving.model(trained.data)
    config = serving.configuration(serving.variant(made), Tags=[{"Key": "a", "Value": "b"}])
    model = client.describe_model(ModelName=made)
    assert model["PrimaryContainer"]["ModelDataUrl"] == trained.data
    assert "VpcConfig" not in model
    described = client.describe_endpoint_config(EndpointConfigName=config)
    assert described["ProductionVariants"][0]["ModelName"] == made
    tags = client.list_tags(ResourceArn=described["EndpointConfigArn"])["Tags"]
    assert tags == [{"Key": "a", "Value": "b"}]
    assert [each["ModelName"] for each in client.list_models(NameContains=made)["Models"]] == [made]
    listed = client.list_endpoint_configs(NameContains=config)["EndpointConfigs"]
    assert [each["EndpointConfigName"] for each in listed] == [config]
    with pytest.raises(ClientError, match="already existing model"):
        client.create_model(
            ModelName=made,
            PrimaryContainer={"Image": serving.IMAGE, "ModelDataUrl": trained.data},
            ExecutionRoleArn=ROLE,
        )
    with serving.endpoint(config) as name:
        with pytest.raises(ClientError, match="already existing endpoint"):
            client.create_endpoint(EndpointName=name, EndpointConfigName=config)
        client.delete_endpoint_config(EndpointConfigName=config)
        client.delete_model(ModelName=made)
        assert len(serving.invoke(name, PASSENGERS)["Body"]["predictions"]) == 2
    serving.gone(name)
    for call, what in (
        (client.describe_model, {"ModelName": made}),
        (client.describe_endpoint_config, {"EndpointConfigName": config}),
        (client.describe_endpoint, {"EndpointName": name}),
    ):
        with pytest.raises(ClientError, match="Could not find"):
            call(**what)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"Mode": "MultiModel"}, "multi-model"),
        ({"ModelDataUrl": f"s3://{serving.BUCKET}/none"}, "Could not find model data"),
        ({"ModelPackageName": "a"}, "an Image or a ModelPackageName"),
    ],
)
def test_models_that_cannot_be_made_are_refused_by_name(
    trained: Trained, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ClientError, match=words):
        serving.model(trained.data, **change)


def test_private_models_and_pipelines_are_refused_by_name(client: Any, trained: Trained) -> None:
    container = {"Image": serving.IMAGE, "ModelDataUrl": trained.data}
    private = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}
    for wish, words in (
        ({"PrimaryContainer": container, "VpcConfig": private}, "private models"),
        ({"Containers": [container, container]}, "inference pipelines"),
    ):
        with pytest.raises(ClientError, match=words):
            client.create_model(ModelName="refused", ExecutionRoleArn=ROLE, **wish)


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        ({"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 1}}, {}, "serverless"),
        ({"InitialInstanceCount": 17}, {}, "1 to 16"),
        ({"ModelName": "none"}, {}, "Could not find model"),
        ({}, {"AsyncInferenceConfig": {"OutputConfig": {}}}, "asynchronous inference"),
        (
            {},
            {"VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}},
            "private endpoints",
        ),
    ],
)
def test_configurations_that_cannot_be_made_are_refused_by_name(
    named: dict[str, str], change: dict[str, Any], more: dict[str, Any], words: str
) -> None:
    with pytest.raises(ClientError, match=words):
        serving.configuration(serving.variant(named["blue"], **change), **more)


def test_autoscaling_and_gradual_updates_are_refused_by_name(
    client: Any, named: dict[str, str]
) -> None:
    with pytest.raises(ClientError, match=r"not implemented.*RegisterScalableTarget"):
        boto3.client("application-autoscaling").register_scalable_target(
            ServiceNamespace="sagemaker",
            ResourceId="endpoint/a/variant/b",
            ScalableDimension="sagemaker:variant:DesiredInstanceCount",
        )
    config = serving.configuration(serving.variant(named["blue"]))
    canary = {"Type": "CANARY", "WaitIntervalInSeconds": 0}
    with pytest.raises(ClientError, match="moves by steps"):
        client.create_endpoint(
            EndpointName="gradual",
            EndpointConfigName=config,
            DeploymentConfig={"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": canary}},
        )


def test_a_models_variables_have_32_kb_together(client: Any, trained: Trained) -> None:
    def create(count: int) -> None:
        environment = {f"V{number:07}": "x" * 1016 for number in range(count)}
        container = {"Image": serving.IMAGE, "ModelDataUrl": trained.data}
        client.create_model(
            ModelName=serving.named("wide"),
            ExecutionRoleArn=ROLE,
            PrimaryContainer=container | {"Environment": environment},
        )

    create(32)
    with pytest.raises(ClientError, match="Environment has 33792 bytes"):
        create(33)


def test_an_endpoints_name_is_taken_in_any_case(client: Any, endpoint: str) -> None:
    config = client.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]
    with pytest.raises(ClientError, match="Cannot create already existing endpoint"):
        client.create_endpoint(EndpointName=endpoint.upper(), EndpointConfigName=config)
    with pytest.raises(ClientError, match="Could not find endpoint"):
        client.describe_endpoint(EndpointName=endpoint.upper())
