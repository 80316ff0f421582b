"""What it takes to add a service: a folder, and a line where services are listed."""

from __future__ import annotations

import importlib
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pytest
import uvicorn
from botocore.exceptions import ClientError
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud.aiplatform_v1.services.notebook_service import NotebookServiceClient
from google.cloud.aiplatform_v1.services.notebook_service.transports import (
    NotebookServiceRestTransport,
)
from google.cloud.aiplatform_v1.types import NotebookRuntimeTemplate

from local_cloud.amazon import services as amazon
from local_cloud.client.home import Home
from local_cloud.server import build, listen
from tests.toy import runtime, templates

LOCATION = "projects/toys/locations/us-central1"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server in this process to which two lines have been added."""
    vertex = importlib.import_module("local_cloud.google.vertex.service")
    with pytest.MonkeyPatch.context() as lines, listen(None) as listener:
        lines.setattr(vertex, "RESOURCES", (*vertex.RESOURCES, templates.resources))
        lines.setattr(amazon, "SERVICES", (runtime.service, *amazon.SERVICES))
        home, port = Home(tmp_path_factory.mktemp("home") / "toys"), listener.getsockname()[1]
        home.make()
        server = uvicorn.Server(uvicorn.Config(build(home, port), log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield home.url(port)
        server.should_exit = True
        thread.join()


@pytest.fixture
def vertex(url: str) -> NotebookServiceClient:
    """The real client of a service that the local cloud does not have."""
    host = url.removeprefix("http://")
    return NotebookServiceClient(
        transport=NotebookServiceRestTransport(
            host=host, url_scheme="http", credentials=AnonymousCredentials()
        )
    )


def client(name: str, url: str) -> Any:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    return boto3.client(name, endpoint_url=f"{url}/aws", **keys)


def wanted(name: str) -> NotebookRuntimeTemplate:
    return NotebookRuntimeTemplate(display_name=name)


def create(vertex: NotebookServiceClient, name: str) -> NotebookRuntimeTemplate:
    template = wanted(name)
    made = vertex.create_notebook_runtime_template(
        parent=LOCATION, notebook_runtime_template=template
    )
    return made.result(timeout=10)


def test_a_declared_resource_of_vertex_has_the_usual_methods(vertex: NotebookServiceClient) -> None:
    made = create(vertex, "one")
    assert made.display_name == "one" and "/notebookRuntimeTemplates/" in made.name
    create(vertex, "two")
    notebook_runtime_templates = vertex.list_notebook_runtime_templates(
        request={"parent": LOCATION, "filter": "display_name=one"}
    )
    assert [one.name for one in notebook_runtime_templates] == [made.name]
    made.display_name = "three"
    mask = {"paths": ["display_name"]}
    changed = vertex.update_notebook_runtime_template(
        notebook_runtime_template=made, update_mask=mask
    )
    assert vertex.get_notebook_runtime_template(name=made.name) == changed
    vertex.delete_notebook_runtime_template(name=made.name).result(timeout=10)
    with pytest.raises(exceptions.NotFound):
        vertex.get_notebook_runtime_template(name=made.name)


def test_a_declared_resource_is_checked_against_its_proto(url: str) -> None:
    body = json.dumps({"displayName": "x", "colour": "red"}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/{LOCATION}/notebookRuntimeTemplates", body, headers)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    with caught.value as answer:
        assert answer.code == 400
        assert "colour" in json.loads(answer.read())["error"]["message"]


def test_custom_methods_and_coroutines_are_declared_too(
    url: str, vertex: NotebookServiceClient
) -> None:
    made = create(vertex, "one")
    with urllib.request.urlopen(f"{url}/v1/{made.name}:describe") as answer:
        assert json.loads(answer.read()) == {"words": [], "name": made.name}


def test_a_service_with_bodies_of_bytes(url: str) -> None:
    with closing(client("sagemaker-runtime", url)) as runtime:
        answer = runtime.invoke_endpoint(
            EndpointName="my-endpoint",
            Body=b"\x00\xff1,2",
            ContentType="text/csv",
            TargetVariant="red",
        )
        assert answer["Body"].read() == b"2,1\xff\x00"
        assert (answer["ContentType"], answer["InvokedProductionVariant"]) == ("text/csv", "blue")
        assert answer["CustomAttributes"] == "my-endpoint red text/csv"


def test_a_refusal_of_a_rest_service_is_the_clients_own_exception(url: str) -> None:
    with closing(client("sagemaker-runtime", url)) as runtime:
        with pytest.raises(runtime.exceptions.ModelError, match="the model is broken") as caught:
            runtime.invoke_endpoint(EndpointName="broken", Body=b"")
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 424


def test_an_operation_that_a_rest_service_lacks_is_named(url: str) -> None:
    says = "not implemented in the local cloud: SageMaker Runtime InvokeEndpointAsync"
    with (
        closing(client("sagemaker-runtime", url)) as runtime,
        pytest.raises(ClientError, match=says),
    ):
        runtime.invoke_endpoint_async(EndpointName="x", InputLocation="s3://bucket/key")


def test_a_service_with_bodies_of_json_under_the_same_signing_name(url: str) -> None:
    with closing(client("sagemaker-metrics", url)) as metrics:
        data = [{"MetricName": "loss", "Timestamp": 1.0, "Value": value} for value in (1.0, -1.0)]
        answer = metrics.batch_put_metrics(TrialComponentName="trial", MetricData=data)
        assert answer["Errors"] == [{"Code": "VALIDATION_ERROR", "MetricIndex": 1}]


def test_json_that_does_not_fit_the_model_is_refused(url: str) -> None:
    signed = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/sagemaker/aws4_request"
    headers = {"authorization": signed, "content-type": "application/json"}
    for body, code in ((b'{"MetricData": []}', "ValidationException"), (b"{", "SerializationExc")):
        request = urllib.request.Request(f"{url}/aws/BatchPutMetrics", body, headers, method="PUT")
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)
        with caught.value as answer:
            assert answer.code == 400 and answer.headers["x-amzn-errortype"].startswith(code)


def test_the_other_services_are_still_there(url: str, tmp_path: Path) -> None:
    with closing(client("s3", url)) as s3:
        s3.create_bucket(Bucket="toys")
        assert [one["Name"] for one in s3.list_buckets()["Buckets"]] == ["toys"]
    with closing(client("sagemaker", url)) as sagemaker:
        assert sagemaker.list_training_jobs()["TrainingJobSummaries"] == []
