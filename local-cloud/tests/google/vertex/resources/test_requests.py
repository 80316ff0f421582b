"""Requests that the service refuses: its own codes, and a sentence that says what is wrong."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions

from local_cloud.client.control import Status
from local_cloud.google.vertex.jobs.training import CUSTOM_TASK
from tests.google.vertex.support import IMAGE

PARENT = "/v1/projects/my-project/locations/us-central1"


def post(cloud: Status, path: str, body: Any) -> tuple[int, dict[str, Any]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{cloud.url}{path}", data, method="POST")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as problem:
        with problem:
            return problem.code, json.loads(problem.read())["error"]


def spec(**pool: Any) -> dict[str, Any]:
    whole = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": {"imageUri": IMAGE, "command": ["true"]},
    }
    return {"displayName": "x", "jobSpec": {"workerPoolSpecs": [whole | pool]}}


def pools(*jobs: dict[str, Any]) -> dict[str, Any]:
    return {"workerPoolSpecs": [job["jobSpec"]["workerPoolSpecs"][0] for job in jobs]}


def pipeline(**fields: Any) -> dict[str, Any]:
    return {
        "displayName": "x",
        "trainingTaskDefinition": CUSTOM_TASK,
        "trainingTaskInputs": spec()["jobSpec"],
    } | fields


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({"trainingTaskInputs": None}, 400, "trainingTaskInputs: an object is needed"),
        ({"trainingTaskInputs": "x"}, 400, "trainingTaskInputs: an object is needed"),
        ({"modelToUpload": {}}, 400, "model.displayName: required"),
        ({"modelToUpload": {"displayName": "m"}, "modelId": "a/b@c"}, 400, "modelId: 'a/b@c'"),
        ({"modelToUpload": {"displayName": "m"}, "parentModel": "m"}, 400, "parentModel: 'm'"),
        (
            {
                "modelToUpload": {"displayName": "m"},
                "parentModel": PARENT.removeprefix("/v1/") + "/models/none",
            },
            404,
            "models/none does not exist",
        ),
        (
            {"modelToUpload": {"displayName": "m", "versionAliases": ["1"]}},
            400,
            "versionAliases: '1'",
        ),
    ],
)
def test_a_wrong_pipeline_is_refused_before_it_runs(
    cloud: Status, body: Any, code: int, words: str
) -> None:
    status, error = post(cloud, f"{PARENT}/trainingPipelines", pipeline(**body))
    assert status == code
    assert words in error["message"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "Invalid JSON payload"),
        (b"[1]", "not an object"),
        ({"displayName": "x", "colour": "blue"}, "colour"),
        ({"displayName": "x"}, "first worker pool"),
        (spec() | {"displayName": ""}, "displayName: required"),
        (spec(replicaCount="2"), "the first pool has one replica"),
        (spec(replicaCount="many"), "replicaCount"),
        (spec() | {"jobSpec": pools(spec(), spec(replicaCount=10**9))}, "replicas; 100 at most"),
        (spec() | {"jobSpec": pools(spec()) | {"scheduling": {"timeout": "-5s"}}}, "negative"),
        (
            spec()
            | {"jobSpec": pools(spec()) | {"baseOutputDirectory": {"outputUriPrefix": "gs://"}}},
            "does not begin with gs://BUCKET",
        ),
        (spec(machineSpec={"machineType": "laptop"}), "machineType: 'laptop'"),
        (spec(machineSpec={"machineType": "n1-standard-4", "acceleratorCount": 1}), "go together"),
        (spec(containerSpec=None), "either pythonPackageSpec or containerSpec"),
        (spec(containerSpec={"command": ["true"]}), "imageUri: required"),
        (
            spec(containerSpec=None, pythonPackageSpec={"executorImageUri": IMAGE}),
            "packageUris: required",
        ),
    ],
)
def test_a_wrong_custom_job_is_an_invalid_argument(cloud: Status, body: Any, words: str) -> None:
    code, error = post(cloud, f"{PARENT}/customJobs", body)
    assert (code, error["status"]) == (400, "INVALID_ARGUMENT")
    assert words in error["message"]


def test_nothing_is_left_of_a_refused_request(aiplatform: ModuleType, cloud: Status) -> None:
    before = len(aiplatform.CustomJob.list())
    post(cloud, f"{PARENT}/customJobs", spec(replicaCount="2"))
    assert len(aiplatform.CustomJob.list()) == before


def test_what_is_not_there_is_not_found(aiplatform: ModuleType) -> None:
    with pytest.raises(exceptions.NotFound, match="does not exist"):
        aiplatform.CustomJob.get("123")


def test_what_is_not_built_says_so_by_name(aiplatform: ModuleType, cloud: Status) -> None:
    with pytest.raises(exceptions.MethodNotImplemented, match=r"not implemented.*datasets of text"):
        aiplatform.TextDataset.create(display_name="later")
    body = {"displayName": "x", "trainingTaskDefinition": "gs://x/automl.yaml"}
    code, error = post(cloud, f"{PARENT}/trainingPipelines", body)
    assert (code, error["status"]) == (501, "UNIMPLEMENTED")
    assert "automl.yaml" in error["message"]


def test_a_running_job_cannot_be_deleted(aiplatform: ModuleType) -> None:
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["sleep", "1000"], "args": []},
    }  # fmt: skip
    job = aiplatform.CustomJob(display_name="busy", worker_pool_specs=[pool])
    job.submit()
    with pytest.raises(exceptions.BadRequest, match="cancel it first"):
        job.delete()
    job.cancel()


def test_pages_together_are_the_whole_list(aiplatform: ModuleType, cloud: Status) -> None:
    for number in range(5):
        aiplatform.Model.upload(
            display_name=f"page-{number}",
            serving_container_image_uri=IMAGE,
            labels={"pages": "yes"},
        )
    names: list[str] = []
    token = ""
    while True:
        query = f"?filter=labels.pages%3Dyes&pageSize=2&pageToken={token}&orderBy=display_name"
        with urllib.request.urlopen(f"{cloud.url}{PARENT}/models{query}") as answer:
            page = json.loads(answer.read())
        names += [model["displayName"] for model in page["models"]]
        token = page["nextPageToken"]
        if not token:
            break
    assert names == [f"page-{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"resourceNames": ["my-project"]}, "'my-project' is not projects/PROJECT"),
        ({"resourceNames": [7]}, "Invalid value at 'resourceNames[0]' (TYPE_STRING), 7"),
        ({"pageToken": "-1"}, "page_token '-1' is none that an answer had"),
        ({"orderBy": "severity"}, "orderBy: 'severity' is neither"),
    ],
)
def test_a_list_of_log_entries_says_what_is_wrong_with_its_request(
    cloud: Status, body: dict[str, Any], said: str
) -> None:
    status, error = post(cloud, "/v2/entries:list", body)
    assert (status, error["status"]) == (400, "INVALID_ARGUMENT")
    assert said in error["message"]
