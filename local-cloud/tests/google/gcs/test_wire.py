"""What goes over the wire: the service's shapes, and an answer to whatever comes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import requests
from google.cloud import storage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.google.gcs.support import Server


@pytest.fixture
def http(server: Server, bucket: storage.Bucket) -> Iterator[requests.Session]:
    bucket.blob("a b").upload_from_string("0123456789", content_type="text/plain")
    with requests.Session() as session:
        yield session


def test_an_error_has_the_service_s_shape(http: requests.Session, server: Server) -> None:
    answer = http.get(f"{server.url}/storage/v1/b/bucket/o/none")
    message = "No such object: bucket/none"
    assert (answer.status_code, answer.json()) == (
        404,
        {
            "error": {
                "code": 404,
                "message": message,
                "errors": [{"message": message, "domain": "global", "reason": "notFound"}],
            }
        },
    )


def test_an_object_s_resource(http: requests.Session, server: Server) -> None:
    answer = http.get(f"{server.url}/storage/v1/b/bucket/o/a%20b").json()
    generation = answer["generation"]
    assert answer["selfLink"] == f"{server.url}/storage/v1/b/bucket/o/a%20b"
    assert answer["mediaLink"] == (
        f"{server.url}/download/storage/v1/b/bucket/o/a%20b?generation={generation}&alt=media"
    )
    assert (answer["kind"], answer["bucket"], answer["name"], answer["size"]) == (
        "storage#object",
        "bucket",
        "a b",
        "10",
    )
    assert http.get(answer["mediaLink"]).text == "0123456789"


@pytest.mark.parametrize("prefix", ["", "/download"])
def test_a_download_has_the_headers_that_clients_check(
    http: requests.Session, server: Server, prefix: str
) -> None:
    address = f"{server.url}{prefix}/storage/v1/b/bucket/o/a%20b?alt=media"
    whole, part = http.get(address), http.get(address, headers={"Range": "bytes=2-4"})
    assert whole.headers["x-goog-hash"] == "crc32c=KAwGng==,md5=eB5eJF1ptWaXm4bijSPyxw=="
    assert whole.headers["content-type"] == "text/plain"
    assert whole.headers["x-goog-stored-content-length"] == "10"
    assert part.status_code == 206
    assert (part.text, part.headers["content-range"]) == ("234", "bytes 2-4/10")
    head = http.head(address)
    assert (head.headers["content-length"], head.content) == ("10", b"")
    unchanged = http.get(address, headers={"If-None-Match": whole.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


def test_a_media_upload_takes_its_name_from_the_address(
    http: requests.Session, server: Server
) -> None:
    address = f"{server.url}/upload/storage/v1/b/bucket/o"
    query = {"uploadType": "media", "name": "x/y"}
    answer = http.post(address, b"text", params=query, headers={"Content-Type": "text/csv"})
    assert (answer.json()["name"], answer.json()["contentType"]) == ("x/y", "text/csv")


def test_a_method_or_address_that_is_missing_says_so(
    http: requests.Session, server: Server
) -> None:
    for method, path, template in (
        ("POST", "/storage/v1/b/bucket/o/a/moveTo/o/b", "b/{bucket}/o/{object}/moveTo/o/{object}"),
        ("POST", "/storage/v1/b/bucket/restore", "b/{bucket}/restore"),
        ("GET", "/storage/v1/projects/p/hmacKeys", "projects/{project}/hmacKeys"),
        ("DELETE", "/storage/v1/b", "b"),
    ):
        answer = http.request(method, server.url + path, data=b"x" * 1_000_000)
        message = f"not implemented in the local cloud: {method} /storage/v1/{template}"
        assert (answer.status_code, answer.json()["error"]["message"]) == (501, message)


KEYS = st.sampled_from(
    [
        "name",
        "metadata",
        "labels",
        "contentType",
        "contentEncoding",
        "storageClass",
        "x",
        "location",
        "sourceObjects",
        "destination",
        "versioning",
        "md5Hash",
        "crc32c",
        "generation",
        "objectPreconditions",
        "ifGenerationMatch",
        "customTime",
        "acl",
        "cors",
        "bindings",
        "role",
        "members",
        "condition",
        "version",
        "etag",
        "iamConfiguration",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)
QUERY = st.dictionaries(
    st.sampled_from(
        [
            "ifGenerationMatch",
            "generation",
            "maxResults",
            "pageToken",
            "prefix",
            "delimiter",
            "startOffset",
            "uploadType",
            "upload_id",
            "name",
            "project",
            "alt",
            "sourceGeneration",
            "optionsRequestedPolicyVersion",
            "permissions",
        ]
    ),
    st.sampled_from(["", "0", "-1", "x", "é", "media", "multipart", "resumable", "a b", "9" * 30]),
    max_size=4,
)
PATHS = st.sampled_from(
    [
        "storage/v1/b",
        "storage/v1/b/bucket",
        "storage/v1/b/bucket/o",
        "storage/v1/b/new/o/a",
        "storage/v1/b/bucket/o/a%20b",
        "storage/v1/b/bucket/o/%ff",
        "storage/v1/b/%00/o/%00",
        "storage/v1/b/bucket/o/a%20b/rewriteTo/b/bucket/o/c",
        "upload/storage/v1/b/bucket/o",
        "storage/v1/b/bucket/iam",
        "storage/v1/b/bucket/iam/testPermissions",
        "storage/v1/projects/%ff/serviceAccount",
        "storage/v1/b/bucket/o/c/compose",
        "download/storage/v1/b/bucket/o/a%20b",
    ]
)
HEADERS = st.dictionaries(
    st.sampled_from(["Range", "Content-Range", "X-Goog-Hash", "If-Match", "Content-Type"]),
    st.sampled_from(["", "bytes=0-" + "9" * 20, "bytes */*", "bytes 0-1/2", "md5=x", "crc32c=A"]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    path=PATHS,
    query=QUERY,
    headers=HEADERS,
    body=JSON.map(json.dumps) | st.binary(),
)
def test_whatever_comes_is_answered(
    http: requests.Session,
    server: Server,
    method: str,
    path: str,
    query: dict[str, str],
    headers: dict[str, str],
    body: str | bytes,
) -> None:
    answer = http.request(method, f"{server.url}/{path}", params=query, headers=headers, data=body)
    assert answer.status_code < 500 or answer.status_code == 501, answer.text
    if answer.status_code >= 400 and answer.status_code != 499:
        assert answer.json()["error"]["code"] == answer.status_code
