"""Resumable uploads, also over a restart of the server, and as other clients speak them."""

from __future__ import annotations

import base64
import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import google_crc32c
import pytest
import requests
from google.api_core.exceptions import BadRequest
from google.cloud import storage
from google.cloud.storage._media.requests import ResumableUpload

from local_cloud.google.gcs.errors import Refusal
from local_cloud.google.gcs.model import Insert, Sessions
from local_cloud.store import files
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records
from local_cloud.store.values import Condition
from tests.google.gcs.support import Server

CHUNK = 256 * 1024
CONTENT = os.urandom(3 * CHUNK + 1000)


@pytest.fixture
def http() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


@pytest.fixture
def address(bucket: storage.Bucket, server: Server) -> str:
    return f"{server.url}/upload/storage/v1/b/bucket/o"


def start(http: requests.Session, address: str, **query: str) -> str:
    query = {"uploadType": "resumable", "name": "file"} | query
    answer = http.post(address, params=query)
    assert answer.status_code == 200
    return answer.headers["location"]


def send(http: requests.Session, session: str, content: bytes, where: str) -> requests.Response:
    return http.put(session, content, headers={"Content-Range": f"bytes {where}"})


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, len(CONTENT)])
def test_the_client_sends_any_number_of_chunks(bucket: storage.Bucket, size: int) -> None:
    blob = bucket.blob("file", chunk_size=CHUNK)
    blob.upload_from_file(io.BytesIO(CONTENT[:size]), size=size)
    assert blob.size == size
    assert bucket.blob("file").download_as_bytes() == CONTENT[:size]


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, len(CONTENT)])
def test_the_client_sends_a_stream_of_unknown_length(
    http: requests.Session, address: str, bucket: storage.Bucket, size: int
) -> None:
    upload = ResumableUpload(f"{address}?uploadType=resumable", CHUNK)
    stream = io.BytesIO(CONTENT[:size])
    upload.initiate(http, stream, {"name": "file"}, "text/plain", stream_final=False)
    while not upload.finished:
        upload.transmit_next_chunk(http)
    assert bucket.blob("file").download_as_bytes() == CONTENT[:size]


def test_an_upload_goes_on_after_a_restart(tmp_path: Path) -> None:
    with Server(tmp_path) as server, requests.Session() as http:
        http.post(f"{server.url}/storage/v1/b", params={"project": "p"}, json={"name": "bucket"})
        upload = ResumableUpload(
            f"{server.url}/upload/storage/v1/b/bucket/o?uploadType=resumable", CHUNK
        )
        upload.initiate(http, io.BytesIO(CONTENT), {"name": "file"}, "text/plain")
        upload.transmit_next_chunk(http)
    with server, requests.Session() as http:
        upload._make_invalid()
        upload.recover(http)
        assert upload.bytes_uploaded == CHUNK
        while not upload.finished:
            upload.transmit_next_chunk(http)
        media = http.get(f"{server.url}/storage/v1/b/bucket/o/file", params={"alt": "media"})
        assert media.content == CONTENT


def test_nothing_shows_before_the_last_byte(
    http: requests.Session, address: str, bucket: storage.Bucket, server: Server
) -> None:
    session = start(http, address)
    send(http, session, CONTENT[:CHUNK], f"0-{CHUNK - 1}/{len(CONTENT)}")
    assert list(bucket.list_blobs()) == []
    assert list((server.buckets / "bucket").iterdir()) == []


def test_the_state_can_be_asked_for(http: requests.Session, address: str) -> None:
    session = start(http, address)
    empty = send(http, session, b"", "*/*")
    assert (empty.status_code, empty.headers.get("range")) == (308, None)
    half = send(http, session, b"01234", "0-4/*")
    assert (half.status_code, half.headers["range"]) == (308, "bytes=0-4")
    assert send(http, session, b"", "*/10").headers["range"] == "bytes=0-4"
    done = send(http, session, b"56789", "5-9/10")
    assert (done.status_code, done.json()["size"]) == (200, "10")
    again = send(http, session, b"", "*/10")
    assert (again.status_code, again.json()) == (200, done.json())


def test_an_unknown_length_is_told_at_the_end(http: requests.Session, address: str) -> None:
    session = start(http, address)
    assert send(http, session, b"01234", "0-4/*").status_code == 308
    assert send(http, session, b"", "*/5").json()["size"] == "5"


def test_bytes_that_come_twice_are_taken_once(
    http: requests.Session, address: str, bucket: storage.Bucket
) -> None:
    session = start(http, address)
    send(http, session, b"01234", "0-4/*")
    send(http, session, b"3456", "3-6/*")
    send(http, session, b"01", "0-1/*")
    assert send(http, session, b"6789", "6-9/10").status_code == 200
    assert bucket.blob("file").download_as_bytes() == b"0123456789"


def test_of_a_long_chunk_that_comes_twice_what_is_known_is_left_out(
    http: requests.Session, address: str, bucket: storage.Bucket
) -> None:
    """It arrives in pieces of a quarter of a megabyte at most; several of them are known."""
    content = os.urandom(12 * CHUNK)
    known = 5 * CHUNK + 3
    session = start(http, address)
    send(http, session, content[:known], f"0-{known - 1}/*")
    total = len(content)
    assert send(http, session, content, f"0-{total - 1}/{total}").status_code == 200
    assert bucket.blob("file").download_as_bytes() == content


def test_one_request_may_bring_it_all(
    http: requests.Session, address: str, bucket: storage.Bucket
) -> None:
    for body in (CONTENT, iter([CONTENT[:10], CONTENT[10:]])):  # of a known length, and not
        assert http.put(start(http, address), body).status_code == 200
        assert bucket.blob("file").download_as_bytes() == CONTENT


def test_a_gap_and_a_wrong_header_are_refused(http: requests.Session, address: str) -> None:
    session = start(http, address)
    gap = send(http, session, b"56789", "5-9/10")
    assert gap.status_code == 400
    assert "exceeds already uploaded size" in gap.json()["error"]["message"]
    assert send(http, session, b"0", "nonsense").status_code == 400
    assert send(http, session, b"01234", "0-4/3").status_code == 400


@pytest.mark.parametrize("name", [[None], {}, 1, True])
def test_a_name_that_is_no_text_is_refused(http: requests.Session, address: str, name: Any) -> None:
    refused = http.post(f"{address}?uploadType=resumable", json={"name": name})
    assert refused.status_code == 400, refused.text


def test_what_is_not_implemented_is_named_without_the_secret(
    http: requests.Session, address: str
) -> None:
    refused = http.patch(f"{address}/x/rewriteTo/b/other/o/y")
    said = refused.json()["error"]["message"]
    assert refused.status_code == 501 and said.endswith(
        ": PATCH /upload/storage/v1/b/{bucket}/o/{object}/rewriteTo/b/{bucket}/o/{object}"
    )


def test_a_cancelled_or_unknown_session_is_not_there(
    http: requests.Session, address: str, server: Server
) -> None:
    kept = server.buckets.with_name("buckets-uploads") / "kept"
    before = set(kept.iterdir())
    session = start(http, address)
    send(http, session, b"01234", "0-4/*")
    assert len(set(kept.iterdir()) - before) == 1
    assert http.delete(session).status_code == 499
    for missing in (session, f"{address}?upload_id=../../x", address):
        assert send(http, missing, CONTENT, f"0-{len(CONTENT) - 1}/*").status_code == 404
    assert set(kept.iterdir()) == before


def test_damaged_bytes_are_not_stored(
    http: requests.Session, address: str, bucket: storage.Bucket
) -> None:
    session = start(http, address)
    wrong = base64.b64encode(google_crc32c.Checksum(b"other").digest()).decode()
    answer = http.put(session, b"bytes", headers={"X-Goog-Hash": f"crc32c={wrong}"})
    assert (answer.status_code, answer.json()["error"]["errors"][0]["reason"]) == (400, "invalid")
    assert list(bucket.list_blobs()) == []
    assert send(http, session, b"", "*/*").status_code == 404


def test_a_broken_connection_leaves_what_came(
    http: requests.Session, address: str, bucket: storage.Bucket
) -> None:
    session = start(http, address)

    def breaks() -> Iterator[bytes]:
        yield CONTENT[:CHUNK]
        raise ConnectionAbortedError

    with pytest.raises(requests.ConnectionError):
        http.put(session, breaks())
    received = int(send(http, session, b"", "*/*").headers["range"].split("-")[1]) + 1
    assert 0 < received <= CHUNK
    rest = f"{received}-{len(CONTENT) - 1}/{len(CONTENT)}"
    assert send(http, session, CONTENT[received:], rest).status_code == 200
    assert bucket.blob("file").download_as_bytes() == CONTENT


def test_a_crash_just_after_the_last_byte_is_told(
    http: requests.Session, address: str, server: Server
) -> None:
    session = start(http, address)
    kept = server.buckets.with_name("buckets-uploads") / "kept"
    (kept / session.rpartition("=")[2]).unlink()  # moved to its place, and then the power went
    answer = send(http, session, b"", "*/*")
    assert answer.status_code == 410
    assert "look whether the object is there" in answer.json()["error"]["message"]


def test_sessions_expire_after_a_week(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = Records(tmp_path / "records.sqlite")
    objects = Objects(tmp_path / "buckets", records)
    objects.create_bucket("k", {})
    insert = Insert("k", "a", "text/plain", {}, Condition(generation=0), "", "")
    session = Sessions(objects).start(insert)
    assert Sessions(objects).get(session.id) == session
    later = time.time() + 8 * 24 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(Refusal, match="start it again"):
        Sessions(objects).get(session.id)
    assert session.path and not session.path.exists()
    records.close()


def test_a_session_of_a_wrong_request_is_not_started(
    http: requests.Session, address: str, bucket: storage.Bucket
) -> None:
    for query in ({"uploadType": "resumable"}, {"uploadType": "other", "name": "a"}, {"name": "a"}):
        answer = http.post(address, params=query, data=CONTENT)
        assert answer.status_code == 400
    with pytest.raises(BadRequest, match="differ"):
        bucket.client._connection.api_request(
            method="POST",
            path="/b/bucket/o",
            query_params={"uploadType": "resumable", "name": "a"},
            data={"name": "b"},
            api_base_url=bucket.client._connection.API_BASE_URL + "/upload",
        )


def test_what_a_full_disk_has_cut_short_takes_no_room(
    http: requests.Session,
    address: str,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = start(http, address)
    before = set(server.buckets.with_name("buckets-uploads").glob("kept/*"))

    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "sync", full)
    assert send(http, session, CONTENT[:CHUNK], f"0-{CHUNK - 1}/{CHUNK}").status_code >= 500
    monkeypatch.undo()
    after = set(server.buckets.with_name("buckets-uploads").glob("kept/*"))
    assert len(before - after) == 1
    with requests.Session() as other:  # the server has closed the first one's connection
        assert send(other, session, b"", "*/*").status_code == 404
