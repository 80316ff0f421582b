"""Requests with something wrong: nobody gets in without the secret, and nothing answers 500."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_cloud.client.control import Status
from local_cloud.client.home import Home
from tests.console_requests import walk
from tests.declared_methods import Declared, declared
from tests.mutations import mutated_requests, send, send_mutated
from tests.recorded_requests import Recorded
from tests.schema_requests import FAULTS, send_declared

NAME = {"Content-Type": "application/json"}
PARENT = "/v1/projects/p/locations/l"
# Some of the requests that the SDKs send, as they sent them; the long test records them all.
REQUESTS = [
    Recorded("POST", "/storage/v1/b?project=p", NAME, b'{"name":"x","labels":{"a":"b"}}'),
    Recorded("GET", "/storage/v1/b/none/o?prefix=a/&delimiter=/&maxResults=1", {"a": "b"}, b""),
    Recorded("GET", f"{PARENT}/customJobs?filter=a=b&pageSize=1&orderBy=create_time", NAME, b""),
    Recorded(
        "POST",
        f"{PARENT}/customJobs",
        NAME,
        b'{"displayName":"x","labels":{"a":"b"},"jobSpec":{"workerPoolSpecs":[{"replicaCount":0,'
        b'"machineSpec":{"machineType":"n1-standard-4"},"containerSpec":{"imageUri":"i"}}]}}',
    ),
    Recorded(
        "POST",
        f"{PARENT}/metadataStores/default/contexts?contextId=c",
        NAME,
        b'{"displayName":"c","schemaTitle":"system.Experiment","metadata":{"a":[1,{"b":"c"}]}}',
    ),
    Recorded(
        "POST",
        f"{PARENT}/datasets",
        NAME,
        b'{"displayName":"d","metadataSchemaUri":"gs://google-cloud-aiplatform/schema/dataset/'
        b'metadata/tabular_1.0.0.yaml","metadata":{"inputConfig":{"gcsSource":{"uri":["gs://b/c"]}}}}',
    ),
    Recorded(
        "POST",
        f"{PARENT}/pipelineJobs?pipelineJobId=p",
        NAME,
        b'{"pipelineSpec":{"schemaVersion":"2.1.0","pipelineInfo":{"name":"x"},"root":{"dag":{"tasks":'
        b'{"a":{"componentRef":{"name":"c"},"triggerPolicy":{"condition":"false"}}}}},"components":'
        b'{"c":{"executorLabel":"e"}},"deploymentSpec":{"executors":{"e":{"container":{"image":"i"}}}}},'
        b'"runtimeConfig":{"gcsOutputDirectory":"gs://b/x","parameterValues":{}}}',
    ),
    Recorded("PUT", "/aws/none/a%20b?partNumber=1&uploadId=x", {"x-amz-acl": "private"}, b"text"),
    *(
        Recorded("POST", "/aws/", {"X-Amz-Target": f"SageMaker.{operation}"}, body)
        for operation, body in {
            "ListTrainingJobs": b'{"SortBy":"Name","MaxResults":5,"CreationTimeAfter":1.0}',
            "CreateTrainingJob": b'{"TrainingJobName":"x","Tags":[{"Key":"a","Value":"b"}]}',
            "CreateProcessingJob": b'{"ProcessingJobName":"x","ProcessingInputs":[{"InputName":"a",'
            b'"S3Input":{"S3Uri":"s3://a/b","LocalPath":"/opt/ml/processing/a","S3DataType":'
            b'"S3Prefix"}}],"ProcessingResources":{"ClusterConfig":{"InstanceCount":1,'
            b'"InstanceType":"ml.m5.large","VolumeSizeInGB":1}},"AppSpecification":{"ImageUri":"i"'
            b',"ContainerEntrypoint":["false"]},"RoleArn":"arn:aws:iam::000000000000:role/r"}',
            "CreatePipeline": b'{"PipelineName":"x","PipelineDefinition":"{\\"Version\\":'
            b'\\"2020-12-01\\",\\"Steps\\":[{\\"Name\\":\\"a\\",\\"Type\\":\\"Fail\\",'
            b'\\"Arguments\\":{}}]}","RoleArn":"arn:aws:iam::000000000000:role/r",'
            b'"ClientRequestToken":"00000000000000000000000000000000"}',
            "StartPipelineExecution": b'{"PipelineName":"x","PipelineParameters":[{"Name":"a",'
            b'"Value":"b"}],"ClientRequestToken":"00000000000000000000000000000000"}',
            "ListPipelineExecutionSteps": b'{"PipelineExecutionArn":"arn:aws:sagemaker:us-east-1:'
            b'000000000000:pipeline/x/execution/y","SortOrder":"Ascending","MaxResults":3}',
        }.items()
    ),
    Recorded(
        "POST",
        "/aws/",
        {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"},
        b"Action=GetRole&Version=2010-05-08&RoleName=SageMakerExecutionRole",
    ),
]


@pytest.fixture(scope="module")
def methods(tmp_path_factory: pytest.TempPathFactory) -> list[Declared]:
    return declared(tmp_path_factory.mktemp("declared"))


def test_some_of_the_sdks_requests_changed_at_random(cloud: Status) -> None:
    assert send_mutated(str(cloud.url), REQUESTS, 400, seed=1)[1:] == (0, [])


def test_every_method_refuses_what_its_schema_does_not_have(
    cloud: Status, methods: list[Declared]
) -> None:
    assert len(methods) > 250
    assert send_declared(str(cloud.url), methods, seed=1, faults=1)[1:] == (0, [])


def test_no_page_and_no_form_of_the_console_ends_in_an_error(cloud: Status, tmp_path: Path) -> None:
    requests_sent = list(walk(Home(cloud.home.folder), tmp_path, rounds=3, seed=1))
    assert [sent for sent, status in requests_sent if status >= 500] == []


BIGQUERY = "/bigquery/v2/projects/p"
WRONG_TYPES: list[tuple[str, str, Any]] = [
    ("POST", f"{BIGQUERY}/queries", {"query": "SELECT 1", "maxResults": -1}),
    ("POST", f"{BIGQUERY}/queries", {"query": "SELECT 1", "timeoutMs": ""}),
    ("POST", f"{BIGQUERY}/queries", {"query": "SELECT 1", "timeoutMs": 10**400}),
    ("POST", f"{BIGQUERY}/queries", {"query": "SELECT @a", "queryParameters": [None]}),
    ("POST", f"{BIGQUERY}/queries", {"query": "SELECT 1", "defaultDataset": {"datasetId": 5}}),
    ("POST", f"{BIGQUERY}/jobs", {"configuration": {"query": {"query": ["SELECT 1"]}}}),
    ("POST", f"{BIGQUERY}/jobs", {"configuration": {"load": {"schema": {"fields": [1]}}}}),
    ("POST", f"{BIGQUERY}/datasets", {"datasetReference": {"datasetId": "d"}, "labels": {"a": 1}}),
    ("GET", f"{BIGQUERY}/jobs?maxResults=-1", None),
    ("GET", f"{BIGQUERY}/queries/none?timeoutMs={'9' * 5000}", None),
    ("POST", "/storage/v1/b?project=p", {"name": "wrong-types", "cors": "all"}),
    ("GET", "/storage/v1/b?project=p&maxResults=x", None),
    ("POST", "/v2/entries:list", {"resourceNames": "projects/p"}),
    (
        "POST",
        f"{PARENT}/batchPredictionJobs",
        {
            "displayName": "b",
            "inputConfig": {"instancesFormat": "jsonl", "gcsSource": {"uris": ["gs://b/x"]}},
            "outputConfig": {"predictionsFormat": "jsonl", "gcsDestination": {}},
        },
    ),
    (
        "POST",
        f"{PARENT}/customJobs",
        {
            "displayName": "c",
            "jobSpec": {
                "workerPoolSpecs": [
                    {
                        "replicaCount": 1,
                        "machineSpec": {"machineType": "n1-standard-4"},
                        "containerSpec": {"imageUri": "i", "env": [{"value": "x"}]},
                    }
                ]
            },
        },
    ),
]


@pytest.mark.parametrize(("verb", "path", "body"), WRONG_TYPES)
def test_a_value_of_the_wrong_type_is_refused_by_its_name(
    cloud: Status, verb: str, path: str, body: Any
) -> None:
    content = b"" if body is None else json.dumps(body).encode()
    status, said = send(str(cloud.url), Recorded(verb, path, NAME, content))
    assert status == 400, said
    assert "Invalid value at" in said or ": required" in said


@pytest.mark.slow
def test_every_method_with_every_kind_of_fault(cloud: Status, methods: list[Declared]) -> None:
    assert send_declared(str(cloud.url), methods, seed=2, faults=len(FAULTS))[1:] == (0, [])


@pytest.mark.slow
def test_many_of_all_that_the_sdks_send() -> None:
    assert mutated_requests(6000, seed=2)[1:] == (0, [])
