"""Several calls in one request: client.batch(), and what other clients send."""

from __future__ import annotations

import pytest
import requests
from google.api_core.exceptions import NotFound
from google.cloud import storage

from local_cloud.google.gcs import batches
from tests.google.gcs.support import Server


def names(bucket: storage.Bucket) -> list[str]:
    return [blob.name for blob in bucket.list_blobs()]


def test_a_batch_deletes_several_objects(client: storage.Client, bucket: storage.Bucket) -> None:
    for name in ("a/b c", "é/漢", "left"):
        bucket.blob(name).upload_from_string("")
    with client.batch():
        bucket.delete_blob("a/b c")
        bucket.blob("é/漢").delete()
    assert names(bucket) == ["left"]


def test_a_batch_changes_resources_which_hold_the_answers_then(
    client: storage.Client, bucket: storage.Bucket
) -> None:
    blobs = [bucket.blob(name) for name in ("one", "two")]
    for blob in blobs:
        blob.upload_from_string("text")
        blob.metadata = {"name": f"é {blob.name}"}
    bucket.labels = {"team": "x"}
    with client.batch():
        for blob in blobs:
            blob.patch()
        bucket.patch()
    assert [blob.metageneration for blob in blobs] == [2, 2]
    assert bucket.get_blob("two").metadata == {"name": "é two"}
    assert client.get_bucket(bucket.name).labels == {"team": "x"}


def test_each_call_has_its_own_outcome(client: storage.Client, bucket: storage.Bucket) -> None:
    bucket.blob("there").upload_from_string("")
    with client.batch(raise_exception=False) as batch:
        bucket.delete_blob("none")
        bucket.blob("there").delete(if_generation_match=1)
        bucket.blob("there").delete()
    assert [answer.status_code for answer in batch._responses] == [404, 412, 204]
    message = f"No such object: {bucket.name}/none"
    assert batch._responses[0].json()["error"]["message"] == message
    assert names(bucket) == []
    with pytest.raises(NotFound, match="No such object"), client.batch():
        bucket.delete_blob("none")


def test_answers_have_so_many_bytes_and_what_comes_then_is_not_done(
    client: storage.Client, bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        blob = bucket.blob(name)
        blob.metadata = {"long": "x" * 40_000}
        blob.upload_from_string("")
    monkeypatch.setattr(batches, "_LARGEST", 60_000)
    with client.batch(raise_exception=False) as batch:
        for name in ("a", "b", "c"):
            blob = bucket.blob(name)
            blob.content_type = "text/csv"
            blob.patch()
    assert [answer.status_code for answer in batch._responses] == [200, 200, 413]
    assert "send this one again" in batch._responses[2].text
    types = [blob.content_type for blob in bucket.list_blobs()]
    assert types == ["text/csv", "text/csv", "text/plain"]


def test_two_hundred_calls_are_one_request(client: storage.Client, bucket: storage.Bucket) -> None:
    with client.batch(raise_exception=False) as batch:
        for number in range(200):
            bucket.delete_blob(str(number))
    assert {answer.status_code for answer in batch._responses} == {404}


def send(
    server: Server, *lines: str, parts: int = 1, kind: str = "multipart/mixed"
) -> requests.Response:
    """Send what OpenDAL does: no host, no bodies (fake-gcs-server's issues 1443 and 2019)."""
    part = [
        "--b",
        "Content-Type: application/http",
        "Content-Transfer-Encoding: binary",
        *lines,
        "",
        "",
    ]
    body = "\r\n".join([*part * parts, "--b--", ""])
    address = f"{server.url}/batch/storage/v1"
    return requests.post(address, body, headers={"Content-Type": f"{kind}; boundary=b"})


def test_a_call_without_host_or_body_is_answered_under_its_id(
    server: Server, bucket: storage.Bucket
) -> None:
    bucket.blob("a").upload_from_string("")
    answer = send(server, "Content-ID: <0>", "", f"DELETE /storage/v1/b/{bucket.name}/o/a HTTP/1.1")
    assert answer.headers["content-type"].startswith("multipart/mixed; boundary=batch_")
    assert "Content-ID: <response-0>\r\n\r\nHTTP/1.1 204 No Content\r\n" in answer.text
    assert names(bucket) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("POST /upload/storage/v1/b/bucket/o?uploadType=media", "not implemented"),
        ("POST /bigquery/v2/projects/p/queries", "not implemented"),
        ("GET /storage/v1/b/bucket/o/a?alt=media", "cannot hold uploads or downloads"),
        ("GET /storage/v1/b/bucket/nothing", "not implemented"),
    ],
)
def test_what_cannot_be_in_a_batch_is_refused_alone(
    server: Server, bucket: storage.Bucket, line: str, words: str
) -> None:
    answer = send(server, "", f"{line} HTTP/1.1")
    assert answer.status_code == 200
    assert words in answer.text


def test_a_body_that_is_no_batch_is_refused(server: Server, bucket: storage.Bucket) -> None:
    assert (
        "multipart/mixed" in send(server, "", "x y", kind="text/plain").json()["error"]["message"]
    )
    assert "begin with a line" in send(server, "", "nothing").json()["error"]["message"]
    many = send(server, "", "GET /storage/v1/b HTTP/1.1", parts=1001)
    assert "between 1 and 1000 calls, not 1001" in many.json()["error"]["message"]
