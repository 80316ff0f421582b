"""Over REST Google's clients raise the classes of errors that they raise over gRPC."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import grpc
import pytest
import requests
from google.api_core import exceptions
from google.cloud import aiplatform_v1, storage

import local_cloud
from local_cloud.client.control import Status
from local_cloud.google.rest import ApiError

PARENT = "projects/my-project/locations/us-central1"
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "example.com/image:1", "command": ["sleep", "600"]},
}
JOB = {"display_name": "refused", "job_spec": {"worker_pool_specs": [POOL]}}


def client(host: str, **options: Any) -> aiplatform_v1.JobServiceClient:
    return aiplatform_v1.JobServiceClient(
        transport="rest", client_options={"api_endpoint": host}, **options
    )


@pytest.fixture
def jobs(cloud: Status) -> aiplatform_v1.JobServiceClient:
    return client(str(cloud.url))


def delete_a_job_that_runs(jobs: aiplatform_v1.JobServiceClient) -> None:
    job = jobs.create_custom_job(parent=PARENT, custom_job=JOB)
    jobs.delete_custom_job(name=job.name)


def send_a_job_without_quota(jobs: aiplatform_v1.JobServiceClient) -> None:
    local_cloud.rehearse("no quota")
    jobs.create_custom_job(parent=PARENT, custom_job=JOB)


CALLS: dict[type[exceptions.GoogleAPICallError], Callable[..., object]] = {
    exceptions.InvalidArgument: lambda jobs: jobs.create_custom_job(parent=PARENT, custom_job={}),
    exceptions.FailedPrecondition: delete_a_job_that_runs,
    exceptions.NotFound: lambda jobs: jobs.get_custom_job(name=f"{PARENT}/customJobs/1"),
    exceptions.ResourceExhausted: send_a_job_without_quota,
    exceptions.MethodNotImplemented: lambda jobs: jobs.list_data_labeling_jobs(parent=PARENT),
}


@pytest.mark.parametrize("kind", CALLS, ids=lambda kind: kind.__name__)
def test_a_refusal_has_the_class_and_the_words_of_grpc(
    jobs: aiplatform_v1.JobServiceClient, kind: type[exceptions.GoogleAPICallError]
) -> None:
    with pytest.raises(kind) as raised:
        CALLS[kind](jobs)
    assert type(raised.value) is kind
    assert raised.value.grpc_status_code is kind.grpc_status_code
    assert "http://" not in str(raised.value)  # over gRPC no URL comes before the service's words


@pytest.mark.parametrize("code", list(grpc.StatusCode)[1:])  # all but OK
def test_every_canonical_code_has_its_class(cloud: Status, code: grpc.StatusCode) -> None:
    expected = exceptions.from_grpc_status(code, "said")
    response = requests.Response()
    response.status_code = expected.code or 500
    error = {"code": response.status_code, "message": "said", "status": code.name}
    response._content = json.dumps({"error": error}).encode()
    response.request = requests.Request("GET", "http://127.0.0.1/").prepare()
    problem = exceptions.from_http_response(response)
    assert type(problem) is type(expected)
    assert problem.message == "said"


def test_our_refusals_and_the_library_agree_on_http() -> None:
    from local_cloud.google.rest import HTTP

    for name, status in HTTP.items():
        kind = exceptions.exception_class_for_grpc_status(grpc.StatusCode[name])
        assert (kind.code, ApiError(name, "").code) == (status, status)


def test_no_answer_in_time_is_deadline_exceeded(cloud: Status) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = client(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(exceptions.DeadlineExceeded, match="504 Deadline Exceeded"):
            slow.get_custom_job(name=f"{PARENT}/customJobs/1", timeout=0.1)


def test_what_has_no_canonical_code_stays_as_it_is(cloud: Status) -> None:
    """Cloud Storage's JSON API has none on the real service, whose client raises BadRequest too."""
    with pytest.raises(exceptions.BadRequest) as raised:
        storage.Client().create_bucket("A", retry=None)
    assert type(raised.value) is exceptions.BadRequest
