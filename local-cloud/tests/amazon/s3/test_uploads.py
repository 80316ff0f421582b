"""Uploads in parts, by the client's own calls."""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import Any

import pytest

import local_cloud
from local_cloud.client.control import Status
from tests.amazon.s3.support import refused

LARGE = b"x" * (5 << 20)  # the smallest that is allowed


def parts_of(*parts: dict[str, Any]) -> dict[str, Any]:
    """What the last call takes, from the answers to the parts' calls, the first of them 1."""
    return {
        "Parts": [
            {"PartNumber": number, "ETag": part["ETag"]} for number, part in enumerate(parts, 1)
        ]
    }


class Upload:
    """An upload of `k`, under way."""

    def __init__(self, s3: Any, bucket: str, **more: Any) -> None:
        self.s3, self.named = s3, {"Bucket": bucket, "Key": "k"}
        self.named["UploadId"] = s3.create_multipart_upload(**self.named, **more)["UploadId"]

    def part(self, number: int, content: bytes, **more: Any) -> Any:
        return self.s3.upload_part(**self.named, PartNumber=number, Body=content, **more)

    def complete(self, *parts: Any, **more: Any) -> Any:
        return self.s3.complete_multipart_upload(
            **self.named, MultipartUpload=parts_of(*parts), **more
        )


def kept_files(cloud: Status) -> list[str]:
    return [each.name for each in (cloud.home.data / "s3-buckets-uploads" / "kept").iterdir()]


def test_parts_become_one_object(s3: Any, bucket: str, cloud: Status) -> None:
    upload = Upload(s3, bucket, Metadata={"a": "b"}, ContentType="text/plain", Tagging="t=u")
    second, first = upload.part(2, b"end"), upload.part(1, LARGE)
    made = upload.complete(first, second)
    digests = hashlib.md5(LARGE).digest() + hashlib.md5(b"end").digest()
    assert made["ETag"] == f'"{hashlib.md5(digests).hexdigest()}-2"'
    stored = s3.get_object(Bucket=bucket, Key="k")
    assert stored["Body"].read() == LARGE + b"end"
    assert (stored["Metadata"], stored["ContentType"]) == ({"a": "b"}, "text/plain")
    assert (stored["TagCount"], stored["ETag"]) == (1, made["ETag"])
    assert s3.list_objects_v2(Bucket=bucket)["Contents"][0]["ETag"] == made["ETag"]
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)
    assert kept_files(cloud) == []


def test_a_part_can_be_read_alone(s3: Any, bucket: str) -> None:
    upload = Upload(s3, bucket)
    upload.complete(upload.part(1, LARGE), upload.part(2, b"end"))
    stored = s3.get_object(Bucket=bucket, Key="k", PartNumber=2)
    assert (stored["Body"].read(), stored["PartsCount"]) == (b"end", 2)
    assert s3.head_object(Bucket=bucket, Key="k", PartNumber=1)["ContentLength"] == len(LARGE)
    with refused("InvalidPartNumber", 416):
        s3.get_object(Bucket=bucket, Key="k", PartNumber=3)
    stored = s3.get_object_attributes(Bucket=bucket, Key="k", ObjectAttributes=["ObjectParts"])
    assert stored["ObjectParts"]["TotalPartsCount"] == 2


def test_a_part_sent_again_takes_the_place_of_the_first(
    s3: Any, bucket: str, cloud: Status
) -> None:
    upload = Upload(s3, bucket)
    first, second = upload.part(1, b"one"), upload.part(1, b"two")
    assert len(kept_files(cloud)) == 1
    with refused("InvalidPart", 400):
        upload.complete(first)
    upload.complete(second)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"two"


def test_parts_that_do_not_fit_are_refused(s3: Any, bucket: str) -> None:
    upload = Upload(s3, bucket)
    first, second = upload.part(1, b"small"), upload.part(2, b"end")
    with refused("EntityTooSmall", 400) as caught:
        upload.complete(first, second)
    assert caught.value.response["Error"]["MinSizeAllowed"] == str(len(LARGE))
    with refused("InvalidPart", 400):
        upload.complete(first, second, second)
    wrong = {"Parts": list(reversed(parts_of(first, second)["Parts"]))}
    with refused("InvalidPartOrder", 400):
        s3.complete_multipart_upload(**upload.named, MultipartUpload=wrong)
    with refused("MalformedXML", 400):
        s3.complete_multipart_upload(**upload.named, MultipartUpload={"Parts": []})
    with refused("InvalidArgument", 400):
        upload.part(10_001, b"")
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)
    assert len(s3.list_parts(**upload.named)["Parts"]) == 2  # and the upload is as it was


def test_an_upload_can_be_given_up(s3: Any, bucket: str, cloud: Status) -> None:
    upload = Upload(s3, bucket)
    part = upload.part(1, b"x")
    s3.abort_multipart_upload(**upload.named)
    assert kept_files(cloud) == []
    for call in (lambda: upload.part(1, b"x"), lambda: upload.complete(part)):
        with refused("NoSuchUpload", 404):
            call()
    with refused("NoSuchUpload", 404):
        s3.abort_multipart_upload(**upload.named)


def test_parts_are_copied_from_objects(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="source", Body=LARGE + b"0123")
    upload = Upload(s3, bucket)
    copied = s3.upload_part_copy(
        **upload.named,
        **{"PartNumber": 1, "CopySource": f"{bucket}/source", "CopySourceRange": "bytes=2-5242880"},
    )["CopyPartResult"]
    upload.complete(copied)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == (LARGE + b"0123")[2:5242881]
    for wrong in ("bytes=0-9999999", "bytes=-5", "0-5"):
        with refused("InvalidArgument", 400):
            s3.upload_part_copy(
                **Upload(s3, bucket).named,
                **{"PartNumber": 1, "CopySource": f"{bucket}/source", "CopySourceRange": wrong},
            )


def test_parts_and_uploads_are_listed_in_pages(s3: Any, bucket: str) -> None:
    upload = Upload(s3, bucket)
    for number in (1, 3, 7):
        upload.part(number, b"%d" % number)
    pages = s3.get_paginator("list_parts").paginate(
        **upload.named, PaginationConfig={"PageSize": 2}
    )
    numbers_on_pages = [[part["PartNumber"] for part in page["Parts"]] for page in pages]
    assert numbers_on_pages == [[1, 3], [7]]
    ids = {}
    for key in ("a/1", "a/2", "b", "b"):
        made = s3.create_multipart_upload(Bucket=bucket, Key=key)
        ids.setdefault(key, []).append(made["UploadId"])
    pages = s3.get_paginator("list_multipart_uploads").paginate(
        Bucket=bucket, PaginationConfig={"PageSize": 2}
    )
    listed = [(each["Key"], each["UploadId"]) for page in pages for each in page["Uploads"]]
    assert listed == [
        ("a/1", ids["a/1"][0]),
        ("a/2", ids["a/2"][0]),
        *(("b", each) for each in ids["b"]),
        ("k", upload.named["UploadId"]),
    ]
    page = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/")
    assert [each["Prefix"] for each in page["CommonPrefixes"]] == ["a/"]
    assert [each["Key"] for each in page["Uploads"]] == ["b", "b", "k"]
    assert len(s3.list_multipart_uploads(Bucket=bucket, Prefix="a/")["Uploads"]) == 2


def test_a_restart_loses_neither_upload_nor_part(s3: Any, bucket: str, cloud: Status) -> None:
    upload = Upload(s3, bucket, Metadata={"a": "b"})
    first = upload.part(1, LARGE)
    stray = cloud.home.data / "s3-buckets-uploads" / "kept" / "stray"
    stray.write_bytes(b"of a part that was never acknowledged")
    local_cloud.stop()
    local_cloud.activate()  # on the same port
    assert not stray.exists()
    assert s3.list_parts(**upload.named)["Parts"][0]["ETag"] == first["ETag"]
    upload.complete(first, upload.part(2, b"end"))
    stored = s3.get_object(Bucket=bucket, Key="k")
    assert (stored["Body"].read(), stored["Metadata"]) == (LARGE + b"end", {"a": "b"})


def test_the_last_call_can_ask_that_there_be_none(s3: Any, bucket: str) -> None:
    upload = Upload(s3, bucket)
    part = upload.part(1, b"x")
    s3.put_object(Bucket=bucket, Key="k", Body=b"earlier")
    with refused("PreconditionFailed", 412) as caught:
        upload.complete(part, IfNoneMatch="*")
    assert caught.value.response["Error"]["Condition"] == "If-None-Match"
    upload.complete(part)


def test_the_last_call_can_be_made_again(s3: Any, bucket: str) -> None:
    upload = Upload(s3, bucket)
    part = upload.part(1, b"x")
    made = upload.complete(part)
    assert upload.complete(part, IfNoneMatch="*")["ETag"] == made["ETag"]
    s3.put_object(Bucket=bucket, Key="k", Body=b"later")
    with refused("NoSuchUpload", 404):
        upload.complete(part)


@pytest.mark.parametrize("kind", ["COMPOSITE", "FULL_OBJECT"])
def test_the_whole_has_a_checksum(s3: Any, bucket: str, kind: str) -> None:
    upload = Upload(s3, bucket, ChecksumAlgorithm="CRC32", ChecksumType=kind)
    first = upload.part(1, LARGE, ChecksumAlgorithm="CRC32")
    second = upload.part(2, b"end")  # the client adds the same one
    made = upload.complete(first, second)
    whole = zlib.crc32(LARGE + b"end").to_bytes(4, "big")
    of_parts = b"".join(zlib.crc32(part).to_bytes(4, "big") for part in (LARGE, b"end"))
    expected = {
        "FULL_OBJECT": base64.b64encode(whole).decode(),
        "COMPOSITE": base64.b64encode(zlib.crc32(of_parts).to_bytes(4, "big")).decode() + "-2",
    }
    assert (made["ChecksumCRC32"], made["ChecksumType"]) == (expected[kind], kind)
    stored = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert stored["ChecksumCRC32"] == expected[kind]
    assert stored["Body"].read() == LARGE + b"end"  # the client compares


def test_a_checksum_of_the_whole_is_compared(s3: Any, bucket: str) -> None:
    upload = Upload(s3, bucket, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    part = upload.part(1, b"x")
    with refused("BadDigest", 400):
        upload.complete(part, ChecksumCRC32="AAAAAA==", ChecksumType="FULL_OBJECT")
    with refused("InvalidRequest", 400):
        upload.complete(part, MpuObjectSize=2)
    with refused("InvalidRequest", 400):
        Upload(s3, bucket, ChecksumAlgorithm="SHA256", ChecksumType="FULL_OBJECT")


def test_a_bucket_that_is_removed_takes_its_uploads_along(
    s3: Any, bucket: str, cloud: Status
) -> None:
    Upload(s3, bucket).part(1, b"x")
    s3.delete_bucket(Bucket=bucket)
    assert kept_files(cloud) == []
    s3.create_bucket(Bucket=bucket)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)
