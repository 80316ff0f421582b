"""Bodies of JSON that are too large, or hold what cannot be kept, are refused at once."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from local_cloud.client.control import Status
from local_cloud.http import bodies

VERTEX = "/v1/projects/p/locations/l/customJobs"
BIGQUERY_UPLOAD = "/upload/bigquery/v2/projects/p/jobs?uploadType=resumable"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SAGEMAKER = {"X-Amz-Target": "SageMaker.ListTrainingJobs"}
DOORS = pytest.mark.parametrize(
    ("path", "headers", "words"),
    [
        (VERTEX, {}, '"status":"INVALID_ARGUMENT"'),
        ("/storage/v1/b?project=p", {}, '"reason":"uploadTooLarge"'),
        (BIGQUERY_UPLOAD, {}, '"reason":"uploadTooLarge"'),
        ("/v2/entries:list", {}, '"status":"INVALID_ARGUMENT"'),
        ("/aws", SAGEMAKER, '"__type": "RequestEntityTooLargeException"'),
        ("/aws", FORM, "<Code>RequestEntityTooLargeException</Code>"),
    ],
    ids=["vertex", "gcs", "bigquery", "logging", "sagemaker", "iam"],
)


def ask(
    cloud: Status, path: str, body: Any, headers: dict[str, str], method: str = "POST"
) -> tuple[int, str]:
    address = urlsplit(cloud.url or "")
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
    connection.request(method, address.path + path, body, headers, encode_chunked=True)
    answer = connection.getresponse()
    response = answer.status, answer.read().decode()
    connection.close()
    return response


@DOORS
def test_the_announced_length_is_enough_to_refuse(
    cloud: Status, path: str, headers: dict[str, str], words: str
) -> None:
    status, said = ask(cloud, path, b"", headers | {"Content-Length": str(84 << 20)})
    assert (status, words in said) == (413, True)


@DOORS
def test_without_a_length_it_is_refused_on_its_way(
    cloud: Status, path: str, headers: dict[str, str], words: str
) -> None:
    chunks = (b"[" + b" " * 65536 for _ in range(64))
    status, said = ask(cloud, path, chunks, headers | {"Transfer-Encoding": "chunked"})
    assert (status, words in said) == (413, True)


@pytest.mark.parametrize(
    "text",
    ['"\\ud800"', '{"\\udfff": 1}', "NaN", "[-Infinity]", "[" * 102 + "]" * 102, "[" * 10**6],
    ids=["half a pair", "as a name", "NaN", "infinity", "nested", "nested without an end"],
)
def test_what_could_not_be_kept_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        bodies.parse(text.encode())


def test_many_small_values_are_refused_before_anybody_checks_them() -> None:
    with pytest.raises(ValueError, match="more than 50000 values"):
        bodies.parse(json.dumps([0] * 50_000).encode())


def test_what_fits_is_kept() -> None:
    text = "[" * 101 + "]" * 101
    assert json.dumps(bodies.parse(text.encode())) == text


@pytest.mark.parametrize("field", ["displayName", "labels", "jobSpec"])
def test_half_a_surrogate_pair_in_a_job(cloud: Status, field: str) -> None:
    status, said = ask(cloud, VERTEX, json.dumps({field: {"\ud800": "\ud800"}}), {})
    assert (status, json.loads(said)["error"]["status"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    "operation",
    [
        "ListTrainingJobs",
        "ListHyperParameterTuningJobs",
        "ListNotebookInstances",
        "ListModelPackages",
        "ListModelPackageGroups",
    ],
)
def test_members_that_are_null_are_not_given(cloud: Status, operation: str) -> None:
    names = ("SortBy", "SortOrder", "MaxResults", "NextToken", "NameContains", "CreationTimeAfter")
    target = {"X-Amz-Target": f"SageMaker.{operation}"}
    sent = json.dumps(dict.fromkeys(names))
    assert ask(cloud, "/aws", sent, target) == ask(cloud, "/aws", "{}", target)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/projects/a%2Fb/locations/l/customJobs",
        "/v1/projects/a%2Fb/locations/l/customJobs/1",
        "/v1/projects/p/locations/l%2F/models",
        "/v1/projects/p%2F/locations/l/metadataStores/default/contexts/c",
        "/v1/projects/p/locations/l/metadataStores/default/contexts/%2F",
        "/v1/projects/p/locations/l/tensorboards/%2F%2F",
        "/ui/projects/p/locations/l/operations/%2F",
    ],
)
def test_a_slash_in_a_name_is_refused(cloud: Status, path: str) -> None:
    status, said = ask(cloud, path, None, {}, "GET")
    assert (status, json.loads(said)["error"]["status"]) == (400, "INVALID_ARGUMENT")
