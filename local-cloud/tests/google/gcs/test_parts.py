"""Uploads in parts, by transfer_manager.upload_chunks_concurrently and the XML API's own calls."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path

import boto3
import google_crc32c
import pytest
import requests
from google.cloud import storage
from google.cloud.storage import transfer_manager
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse

from local_cloud.google.gcs.parts import SMALLEST
from tests.google.gcs.support import Server

CONTENT = os.urandom(2 * SMALLEST + 1000)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parts") / "file"
    path.write_bytes(CONTENT)
    return path


def upload(file: Path, blob: storage.Blob, **settings: object) -> None:
    transfer_manager.upload_chunks_concurrently(
        str(file), blob, chunk_size=SMALLEST, worker_type=transfer_manager.THREAD, **settings
    )


@pytest.mark.parametrize("checksum", ["md5", "crc32c", None])
def test_a_file_goes_up_in_parts(bucket: storage.Bucket, file: Path, checksum: str | None) -> None:
    blob = bucket.blob("deep/é a+b")
    blob.metadata = {"who": "me"}
    blob.cache_control = "no-store"
    blob.content_language = "de"
    blob.storage_class = "NEARLINE"
    upload(file, blob, checksum=checksum, content_type="text/csv")
    stored = bucket.get_blob("deep/é a+b")
    assert stored.download_as_bytes() == CONTENT
    assert (stored.size, stored.content_type, stored.storage_class) == (
        len(CONTENT),
        "text/csv",
        "NEARLINE",
    )
    assert (stored.metadata, stored.cache_control) == ({"who": "me"}, "no-store")
    assert stored.content_language == "de"


def test_such_an_object_has_a_crc32c_and_no_md5(bucket: storage.Bucket, file: Path) -> None:
    upload(file, bucket.blob("x"))
    blob = bucket.get_blob("x")
    expected = base64.b64encode(google_crc32c.value(CONTENT).to_bytes(4, "big")).decode()
    assert (blob.crc32c, blob.md5_hash, blob.component_count) == (expected, None, None)
    assert "uploadedInParts" not in blob._properties
    blob.metadata = {"a": "b"}
    blob.patch()
    assert bucket.copy_blob(blob, bucket, "y").md5_hash is None
    assert bucket.get_blob("x").md5_hash is None


class Xml:
    """The calls of the XML API, as a client of Google's sends them."""

    def __init__(self, server: Server, name: str = "x") -> None:
        self.address = f"{server.url}/bucket/{name}"

    def __call__(
        self, verb: str, query: str, body: bytes = b"", **headers: str
    ) -> requests.Response:
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= {"x-goog-api-client": "gl-python"}
        return requests.request(verb, f"{self.address}?{query}", data=body, headers=headers)

    def start(self) -> str:
        match = re.search("<UploadId>(.+)</UploadId>", self("POST", "uploads").text)
        assert match
        return match[1]

    def put(self, upload: str, number: int, body: bytes, **headers: str) -> requests.Response:
        return self("PUT", f"partNumber={number}&uploadId={upload}", body, **headers)

    def complete(self, upload: str, *parts: tuple[int, str]) -> requests.Response:
        listed = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"
            for number, tag in parts
        )
        root = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>"
        return self("POST", f"uploadId={upload}", root.encode())


@pytest.fixture
def xml(server: Server, bucket: storage.Bucket) -> Xml:
    return Xml(server)


def code(answer: requests.Response) -> tuple[int, str]:
    match = re.search("<Code>(.+)</Code><Message>.+</Message><Details", answer.text)
    assert match, answer.text
    return answer.status_code, match[1]


def test_parts_are_listed_replaced_and_thrown_away(xml: Xml, bucket: storage.Bucket) -> None:
    upload = xml.start()
    xml.put(upload, 2, b"second")
    xml.put(upload, 1, b"wrong")
    tag = xml.put(upload, 1, b"first").headers["etag"]
    assert tag == f'"{hashlib.md5(b"first").hexdigest()}"'
    listed = xml("GET", f"uploadId={upload}").text
    assert re.findall("<PartNumber>(.+?)<.*?<Size>(.+?)<", listed) == [("1", "5"), ("2", "6")]
    page = xml("GET", f"uploadId={upload}&max-parts=1").text
    assert "<NextPartNumberMarker>1</NextPartNumberMarker><IsTruncated>true" in page
    server_list = Xml.__new__(Xml)
    server_list.address = xml.address.removesuffix("/x")
    assert f"<Key>x</Key><UploadId>{upload}" in server_list("GET", "uploads").text
    assert [blob.name for blob in bucket.list_blobs()] == []
    assert xml("DELETE", f"uploadId={upload}").status_code == 204
    assert code(xml("GET", f"uploadId={upload}")) == (404, "NoSuchUpload")
    assert code(xml.put(upload, 1, b"")) == (404, "NoSuchUpload")


def test_what_does_not_fit_is_refused_in_xml(xml: Xml) -> None:
    upload = xml.start()
    one, two = (xml.put(upload, number, b"x").headers["etag"] for number in (1, 2))
    assert code(xml.complete(upload)) == (400, "MalformedXML")
    assert code(xml.complete(upload, (2, two), (1, one))) == (400, "InvalidPartOrder")
    assert code(xml.complete(upload, (1, one), (3, two))) == (400, "InvalidPart")
    assert code(xml.complete(upload, (1, '"other"'))) == (400, "InvalidPart")
    assert code(xml.complete(upload, (1, one), (2, two))) == (400, "EntityTooSmall")
    assert code(xml("POST", f"uploadId={upload}", b"<!DOCTYPE x>")) == (400, "MalformedXML")
    assert code(xml.put(upload, 10_001, b"x")) == (400, "InvalidArgument")
    assert code(xml.put(upload, 1, b"x", content_md5="AAAA")) == (400, "BadDigest")
    assert code(xml("PUT", "partNumber=1&uploadId=none", b"x" * 1_000_000)) == (404, "NoSuchUpload")
    for verb in ("GET", "DELETE", "PUT"):
        assert code(xml(verb, "partNumber=1&uploads")) == (404, "NoSuchUpload")
    assert xml.complete(upload, (1, one)).status_code == 200


def test_a_bucket_that_is_not_there(client: storage.Client, file: Path) -> None:
    with pytest.raises(InvalidResponse, match="404"):
        upload(file, client.bucket("nowhere").blob("x"))


def test_a_part_that_was_damaged_on_the_way_is_noticed(
    bucket: storage.Bucket, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from google.cloud.storage._media.requests.upload import XMLMPUPart

    prepare = XMLMPUPart._prepare_upload_request

    def damage(part: XMLMPUPart) -> tuple[str, str, bytes, dict[str, str]]:
        verb, url, payload, headers = prepare(part)
        return verb, url, payload[:-1] + b"?", headers

    monkeypatch.setattr(XMLMPUPart, "_prepare_upload_request", damage)
    with pytest.raises(DataCorruption):
        upload(file, bucket.blob("x"), checksum="md5")
    assert not bucket.blob("x").exists()


def test_uploads_outlive_a_restart_and_what_nobody_knows_is_removed(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        storage_url = f"{server.url}/storage/v1/b"
        requests.post(storage_url, json={"name": "bucket"}, params={"project": "p"})
        xml = Xml(server)
        upload = xml.start()
        tag = xml.put(upload, 1, b"kept").headers["etag"]
    (kept,) = tmp_path.rglob("kept/*")
    (kept.parent / "left").touch()
    with server:
        assert not (kept.parent / "left").exists()
        assert xml.complete(upload, (1, tag)).status_code == 200
        assert requests.get(f"{storage_url}/bucket/o/x?alt=media").text == "kept"
        assert not kept.exists()


def test_amazon_s_uploads_stay_amazon_s(cloud: object) -> None:
    """Both clouds are behind one address, and their uploads in parts have the same paths."""
    s3, gcs = boto3.client("s3"), storage.Client(project="p")
    s3.create_bucket(Bucket="of-amazon")
    upload = s3.create_multipart_upload(Bucket="of-amazon", Key="x")["UploadId"]
    part = s3.upload_part(Bucket="of-amazon", Key="x", UploadId=upload, PartNumber=1, Body=b"s3")
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    s3.complete_multipart_upload(
        Bucket="of-amazon", Key="x", UploadId=upload, MultipartUpload=parts
    )
    assert s3.get_object(Bucket="of-amazon", Key="x")["Body"].read() == b"s3"
    assert not gcs.bucket("of-amazon").exists()
