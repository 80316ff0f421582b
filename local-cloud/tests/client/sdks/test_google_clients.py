"""Clients of Vertex AI's API that code makes itself, of both versions and both kinds."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import pytest
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import FailedPrecondition, MethodNotImplemented, NotFound
from google.cloud import aiplatform, aiplatform_v1, aiplatform_v1beta1
from google.cloud.aiplatform_v1.services.job_service.transports import JobServiceGrpcTransport
from google.oauth2.credentials import Credentials

from local_cloud import LocalCloudError
from local_cloud.client.control import Status

PARENT = "projects/raw-clients/locations/us-central1"
REAL = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
VERSIONS = [aiplatform_v1, aiplatform_v1beta1]
ACCOUNT = Credentials(None, "refresh", None, "https://oauth2.googleapis.com/token", "id", "secret")


def version_name(module: ModuleType) -> str:
    return module.__name__.rpartition("_")[2]


@pytest.mark.parametrize("version", VERSIONS, ids=version_name)
@pytest.mark.parametrize("ending", ["Client", "AsyncClient"])
def test_every_client_is_led_here(cloud: Status, version: ModuleType, ending: str) -> None:
    names = [name for name in vars(version) if name.endswith(f"Service{ending}")]
    assert len(names) > 30
    for name in names:
        client = getattr(version, name)(client_options=REAL)
        assert client.api_endpoint == cloud.url, name
        assert client.transport.kind == ("rest" if ending == "Client" else "rest_asyncio"), name


@pytest.mark.parametrize("version", VERSIONS, ids=version_name)
def test_the_calls_of_samples_work(cloud: Status, version: ModuleType) -> None:
    endpoints = version.EndpointServiceClient(client_options=REAL)
    operation = endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": "of a sample"})
    made = operation.result(timeout=30)
    assert type(made) is version.Endpoint
    assert made.display_name == "of a sample"
    assert type(operation.metadata) is version.CreateEndpointOperationMetadata
    assert made.name in [each.name for each in endpoints.list_endpoints(parent=PARENT)]
    endpoints.delete_endpoint(name=made.name).result(timeout=30)
    with pytest.raises(NotFound, match=r"404 The endpoint .* does not exist"):
        version.PredictionServiceClient().predict(endpoint=made.name, instances=[1])


@pytest.mark.parametrize("version", VERSIONS, ids=version_name)
def test_the_asynchronous_calls_work(cloud: Status, version: ModuleType) -> None:
    async def call() -> None:
        async with version.EndpointServiceAsyncClient(client_options=REAL) as client:
            operation = await client.create_endpoint(
                parent=PARENT, endpoint={"display_name": "asynchronous"}
            )
            made = await operation.result(timeout=30)
            assert type(made) is version.Endpoint
            endpoints = [each.name async for each in await client.list_endpoints(parent=PARENT)]
            assert made.name in endpoints
            await (await client.delete_endpoint(name=made.name)).result(timeout=30)
            with pytest.raises(NotFound, match=r"404 The endpoint .* does not exist"):
                await client.get_endpoint(name=made.name)

    asyncio.run(call())


def test_the_clients_of_gapic_are_the_same(cloud: Status) -> None:
    jobs = aiplatform.gapic.JobServiceClient()
    assert list(jobs.list_custom_jobs(parent=PARENT)) == []
    pipelines = aiplatform.gapic.PipelineServiceClient(client_options=ClientOptions(**REAL))
    assert list(pipelines.list_training_pipelines(parent=PARENT)) == []
    models = aiplatform.gapic.ModelServiceClient(transport="grpc")
    assert list(models.list_models(parent=PARENT)) == []


@pytest.mark.filterwarnings("ignore:The `credentials_file`:DeprecationWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"credentials": ACCOUNT},
        {"client_options": {**REAL, "quota_project_id": "real", "scopes": ["x"]}},
        {"client_options": {"api_key": "real"}},
        # github.com/googleapis/python-aiplatform/issues/974
        {"client_options": {**REAL, "credentials_file": "google_key.json"}},
        {"transport": JobServiceGrpcTransport},
    ],
    ids=["credentials", "options", "key", "file", "transport"],
)
def test_what_names_a_real_account_is_left_out(cloud: Status, options: dict[str, Any]) -> None:
    client = aiplatform_v1.JobServiceClient(**options)
    assert list(client.list_custom_jobs(parent=PARENT)) == []


def test_the_sdk_s_own_host_for_all_regions_is_led_here(cloud: Status) -> None:
    """There init() drops its api_endpoint: github.com/googleapis/python-aiplatform/issues/6958."""
    before = aiplatform.initializer.global_config.api_endpoint
    aiplatform.init(project="raw-clients", location="global", api_endpoint="https://example.com/x")
    try:
        assert aiplatform.CustomJob.list() == []
    finally:
        aiplatform.init(location="us-central1", api_endpoint=before)


def test_options_stay_as_their_owner_has_them(cloud: Status) -> None:
    options = ClientOptions(**REAL)
    aiplatform_v1.JobServiceClient(client_options=options)
    assert options.api_endpoint == REAL["api_endpoint"]


def test_a_transport_of_ones_own_over_grpc_is_refused_with_what_works(cloud: Status) -> None:
    with pytest.raises(LocalCloudError, match="make the client without a tr"):
        JobServiceGrpcTransport(host=REAL["api_endpoint"], credentials=ACCOUNT)


def test_a_method_that_is_not_here_says_so(cloud: Status) -> None:
    features = aiplatform_v1.FeaturestoreServiceClient()
    with pytest.raises(MethodNotImplemented, match="not implemented in the local cloud"):
        features.list_featurestores(parent=PARENT)


def test_the_sdk_s_own_asynchronous_client_is_led_here(cloud: Status) -> None:
    """Endpoint.predict_async() makes one; without credentials for it the SDK takes gRPC."""
    aiplatform.init(project="raw-clients", location="us-central1")
    endpoint = aiplatform.Endpoint.create("of async predictions")

    async def predict() -> None:
        with pytest.raises(FailedPrecondition, match="doesn't have traffic_split"):
            await endpoint.predict_async(instances=[[1]])
        await endpoint._prediction_async_client.transport.close()

    asyncio.run(predict())
    endpoint.delete()
