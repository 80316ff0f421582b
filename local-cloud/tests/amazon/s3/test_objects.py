"""Objects, by the client's own calls."""

from __future__ import annotations

import hashlib
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.client.control import Status
from tests.amazon.s3.support import refused, send

NAMES = [
    "plain",
    "data/train.npz",
    "a b+c&d=e?f#g%2Fh",
    "é/漢字/😀",
    "a//b",
    "folder/",
    "/top",
    "2026-11-20-09:00:00.123",
    "../up",
    "x" * 1024,
    "a/./b",
    ".hidden",
    "~/x",
    "%",
    "a\\b",
    "line\nfeed",
    ".",
    "a'b(c)*!",
]
HEADERS = {
    "CacheControl": "no-store",
    "ContentDisposition": 'attachment; filename="a.txt"',
    "ContentEncoding": "gzip",
    "ContentLanguage": "de",
    "ContentType": "text/plain; charset=utf-8",
    "StorageClass": "STANDARD_IA",
    "WebsiteRedirectLocation": "/other",
    "Metadata": {"who": "me", "why": "a, b"},
}


def etag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


def listed(s3: Any, bucket: str) -> list[str]:
    return [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


# Up and down


@pytest.mark.parametrize("name", NAMES)
def test_any_name_goes_up_and_down(s3: Any, bucket: str, name: str) -> None:
    s3.put_object(Bucket=bucket, Key=name, Body=name.encode())
    assert listed(s3, bucket) == [name]
    assert s3.get_object(Bucket=bucket, Key=name)["Body"].read() == name.encode()
    assert s3.head_object(Bucket=bucket, Key=name)["ContentLength"] == len(name.encode())
    s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": name})
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": name}]})
    assert listed(s3, bucket) == ["copy"]
    with refused("NoSuchKey", 404):
        s3.get_object(Bucket=bucket, Key=name)
    with refused("404", 404):
        s3.head_object(Bucket=bucket, Key=name)


def test_a_name_that_xml_cannot_carry_is_listed_and_removed(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="a\x01b", Body=b"")
    assert listed(s3, bucket) == ["a\x01b"]
    assert b"<Key>a&#x1;b</Key>" in send("GET", f"/{bucket}")[1]
    with refused("MalformedXML", 400):  # what the client sends is no XML
        s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "a\x01b"}]})
    s3.delete_object(Bucket=bucket, Key="a\x01b")
    assert listed(s3, bucket) == []


def test_a_name_that_no_object_can_have_is_refused(s3: Any, bucket: str) -> None:
    with refused("KeyTooLongError", 400):
        s3.put_object(Bucket=bucket, Key="x" * 1025, Body=b"")
    with refused("InvalidArgument", 400) as caught:
        s3.put_object(Bucket=bucket, Key="a\0b", Body=b"")
    assert "NUL" in str(caught.value)
    status, body, _ = send("PUT", f"/{bucket}/%ff", b"x")
    assert (status, b"<Code>InvalidURI</Code>" in body) == (400, True)


def test_files_go_up_and_down(s3: Any, bucket: str, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(bytes(range(256)) * 80_000)  # 20 MB: in parts
    s3.upload_file(str(source), bucket, "k", ExtraArgs={"Metadata": {"a": "b"}})
    s3.download_file(bucket, "k", str(target))
    assert target.read_bytes() == source.read_bytes()
    stored = s3.head_object(Bucket=bucket, Key="k")
    assert stored["ETag"].endswith('-3"')
    assert stored["Metadata"] == {"a": "b"}


def test_what_was_said_of_an_object_is_said_again(s3: Any, bucket: str) -> None:
    made = s3.put_object(Bucket=bucket, Key="k", Body=b"text", **HEADERS)
    stored = s3.get_object(Bucket=bucket, Key="k")
    assert {name: stored[name] for name in HEADERS} == HEADERS
    assert made["ETag"] == stored["ETag"] == etag(b"text")
    assert (stored["ContentLength"], stored["AcceptRanges"]) == (4, "bytes")
    assert abs(stored["LastModified"] - datetime.now(UTC)) < timedelta(minutes=1)
    head = s3.head_object(Bucket=bucket, Key="k")
    assert {name: head[name] for name in HEADERS} == HEADERS


@pytest.mark.parametrize("value", ["x\ty", "\u00e0", "\xa0", "caf\u00e9", "\U0001f600"])
def test_whatever_a_header_may_hold_comes_back(s3: Any, bucket: str, value: str) -> None:
    """Sent as UTF-8, as curl does; what was stored can always be read."""
    about = {"x-amz-meta-a": value.encode().decode("latin-1"), "cache-control": "a\tb"}
    assert send("PUT", f"/{bucket}/k", b"text", about)[0] == 200
    status, body, headers = send("GET", f"/{bucket}/k")
    assert (status, body, headers["cache-control"]) == (200, b"text", "a\tb")
    assert headers["x-amz-meta-a"].encode("latin-1").decode() == value


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"])
def test_a_time_outside_the_calendar_is_none(s3: Any, bucket: str, time: str) -> None:
    assert send("PUT", f"/{bucket}/k", b"text", {"Expires": time})[0] == 200
    assert send("GET", f"/{bucket}/k")[:2] == (200, b"text")
    offset = "Mon, 01 Jan 2020 00:00:00 +99999999999999"
    assert send("GET", f"/{bucket}/k", headers={"If-Modified-Since": offset})[0] == 200


def test_without_words_an_object_is_bytes(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k.txt")
    stored = s3.get_object(Bucket=bucket, Key="k.txt")
    assert (stored["ContentType"], stored["Metadata"]) == ("binary/octet-stream", {})
    assert stored["Body"].read() == b""
    assert "StorageClass" not in stored


def test_too_much_metadata_is_refused(s3: Any, bucket: str) -> None:
    with refused("MetadataTooLarge", 400):
        s3.put_object(Bucket=bucket, Key="k", Metadata={"a": "x" * 2048})
    with refused("InvalidStorageClass", 400):
        s3.put_object(Bucket=bucket, Key="k", StorageClass="CELLAR")


def test_a_job_s_file_is_an_object_and_the_other_way_round(
    s3: Any, bucket: str, cloud: Status
) -> None:
    folder = cloud.home.data / "s3-buckets" / bucket
    (folder / "out").mkdir()
    (folder / "out" / "metrics.json").write_text("{}")
    stored = s3.get_object(Bucket=bucket, Key="out/metrics.json")
    assert (stored["Body"].read(), stored["ETag"]) == (b"{}", etag(b"{}"))
    assert stored["ContentType"] == "application/json"
    s3.put_object(Bucket=bucket, Key="in/a.txt", Body=b"from the client")
    assert (folder / "in" / "a.txt").read_bytes() == b"from the client"


# Reading a part, or under a condition


def test_a_range_is_read(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"0123456789")

    def read(header: str) -> tuple[int, bytes, str | None]:
        stored = s3.get_object(Bucket=bucket, Key="k", Range=header)
        status = stored["ResponseMetadata"]["HTTPStatusCode"]
        return status, stored["Body"].read(), stored.get("ContentRange")

    assert read("bytes=2-4") == (206, b"234", "bytes 2-4/10")
    assert read("bytes=7-") == (206, b"789", "bytes 7-9/10")
    assert read("bytes=-3") == (206, b"789", "bytes 7-9/10")
    assert read("bytes=5-99") == (206, b"56789", "bytes 5-9/10")
    assert read("bytes=0-1,3-4") == (200, b"0123456789", None)
    with refused("InvalidRange", 416) as caught:
        read("bytes=10-")
    assert caught.value.response["Error"]["ActualObjectSize"] == "10"
    assert s3.head_object(Bucket=bucket, Key="k", Range="bytes=2-4")["ContentLength"] == 3


def test_a_read_can_depend_on_what_is_there(s3: Any, bucket: str) -> None:
    made = s3.put_object(Bucket=bucket, Key="k", Body=b"x")["ETag"]
    now = s3.head_object(Bucket=bucket, Key="k")["LastModified"]
    before, after = now - timedelta(hours=1), now + timedelta(hours=1)
    for read in (s3.get_object, s3.head_object):
        named = {"Bucket": bucket, "Key": "k"}
        read(**named, IfMatch=made, IfUnmodifiedSince=before)  # the first one counts
        read(**named, IfNoneMatch='"other"', IfModifiedSince=after)
        read(**named, IfModifiedSince=before, IfUnmodifiedSince=after)
        for condition in ({"IfMatch": '"other"'}, {"IfUnmodifiedSince": before}):
            with pytest.raises(ClientError, match=r"412|PreconditionFailed"):
                read(**named, **condition)
        for condition in ({"IfNoneMatch": made}, {"IfModifiedSince": now}):
            with refused("304", 304):
                read(**named, **condition)


def test_a_reader_can_name_the_headers(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", ContentType="text/plain")
    stored = s3.get_object(
        Bucket=bucket,
        Key="k",
        ResponseContentType="text/html",
        ResponseContentDisposition='attachment; filename="é.txt"',
    )
    assert stored["ContentType"] == "text/html"
    assert "attachment" in stored["ContentDisposition"]
    status, *_ = send("GET", f"/{bucket}/k?response-content-type=a%0d%0ab:c")
    assert status == 400


# Writing under a condition


def test_a_write_can_ask_that_there_be_none(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfNoneMatch="*")
    with refused("PreconditionFailed", 412):
        s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfNoneMatch="*")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"1"


def test_of_many_such_writes_one_succeeds(s3: Any, bucket: str) -> None:
    done = []

    def write(number: int) -> None:
        try:
            s3.put_object(Bucket=bucket, Key="k", Body=b"%d" % number, IfNoneMatch="*")
        except ClientError as error:
            assert error.response["Error"]["Code"] == "PreconditionFailed"
        else:
            done.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"%d" % done[0]


def test_a_write_can_ask_for_the_present_object(s3: Any, bucket: str) -> None:
    with refused("NoSuchKey", 404):
        s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfMatch=etag(b"1"))
    s3.put_object(Bucket=bucket, Key="k", Body=b"1")
    s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfMatch=etag(b"1"))
    with refused("PreconditionFailed", 412):
        s3.put_object(Bucket=bucket, Key="k", Body=b"3", IfMatch=etag(b"1"))
    with refused("PreconditionFailed", 412):
        s3.delete_object(Bucket=bucket, Key="k", IfMatch=etag(b"1"))
    s3.delete_object(Bucket=bucket, Key="k", IfMatch=etag(b"2"))
    with refused("NoSuchKey", 404):
        s3.delete_object(Bucket=bucket, Key="k", IfMatch=etag(b"2"))


# Removing


def test_what_is_not_there_can_be_removed(s3: Any, bucket: str) -> None:
    answer = s3.delete_object(Bucket=bucket, Key="none")
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 204


def test_many_are_removed_at_once(s3: Any, bucket: str) -> None:
    for name in "abc":
        s3.put_object(Bucket=bucket, Key=name, Body=b"")
    wanted = [{"Key": name} for name in ("a", "b", "none")]
    assert s3.delete_objects(Bucket=bucket, Delete={"Objects": wanted})["Deleted"] == wanted
    quiet = {"Objects": [{"Key": "c"}, {"Key": "x" * 1025}], "Quiet": True}
    answer = s3.delete_objects(Bucket=bucket, Delete=quiet)
    assert "Deleted" not in answer
    assert [error["Code"] for error in answer["Errors"]] == ["KeyTooLongError"]
    assert listed(s3, bucket) == []
    with refused("MalformedXML", 400):
        s3.delete_objects(Bucket=bucket, Delete={"Objects": wanted * 400})


# Copies


def test_a_copy_takes_everything_along(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"text", Tagging="a=b", **HEADERS)
    s3.create_bucket(Bucket="other")
    copied = s3.copy_object(Bucket="other", Key="c", CopySource=f"/{bucket}/k")
    assert copied["CopyObjectResult"]["ETag"] == etag(b"text")
    stored = s3.get_object(Bucket="other", Key="c")
    kept = HEADERS.keys() - {"StorageClass", "WebsiteRedirectLocation"}  # as the service does
    assert {name: stored[name] for name in kept} == {name: HEADERS[name] for name in kept}
    assert stored["TagCount"] == 1


def test_a_copy_can_be_given_other_words(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"text", Tagging="a=b", **HEADERS)
    s3.copy_object(
        **{"Bucket": bucket, "Key": "k", "CopySource": f"{bucket}/k"},
        **{"MetadataDirective": "REPLACE", "Metadata": {"new": "1"}, "ContentType": "a/b"},
        **{"TaggingDirective": "REPLACE", "Tagging": ""},
    )
    stored = s3.get_object(Bucket=bucket, Key="k")
    assert (stored["Metadata"], stored["ContentType"]) == ({"new": "1"}, "a/b")
    assert "CacheControl" not in stored
    assert "TagCount" not in stored


def test_a_copy_to_itself_must_change_something(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    with refused("InvalidRequest", 400):
        s3.copy_object(Bucket=bucket, Key="k", CopySource=f"{bucket}/k")
    s3.copy_object(Bucket=bucket, Key="k", CopySource=f"{bucket}/k", StorageClass="GLACIER_IR")
    assert s3.head_object(Bucket=bucket, Key="k")["StorageClass"] == "GLACIER_IR"


def test_a_copy_can_depend_on_its_source(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    now = s3.head_object(Bucket=bucket, Key="k")["LastModified"]
    named = {"Bucket": bucket, "Key": "c", "CopySource": f"{bucket}/k"}
    s3.copy_object(**named, CopySourceIfMatch=etag(b"x"))
    for condition in (
        {"CopySourceIfMatch": etag(b"y")},
        {"CopySourceIfNoneMatch": etag(b"x")},
        {"CopySourceIfModifiedSince": now},
        {"CopySourceIfUnmodifiedSince": now - timedelta(hours=1)},
    ):
        with refused("PreconditionFailed", 412):
            s3.copy_object(**named, **condition)


def test_a_source_that_is_not_there(s3: Any, bucket: str) -> None:
    with refused("NoSuchKey", 404):
        s3.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/none")
    with refused("NoSuchBucket", 404):
        s3.copy_object(Bucket=bucket, Key="c", CopySource="none-such/none")
    with refused("InvalidArgument", 400):
        s3.copy_object(Bucket=bucket, Key="c", CopySource="nothing")


def test_what_is_in_an_archive_cannot_be_read(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", StorageClass="GLACIER")
    assert s3.head_object(Bucket=bucket, Key="k")["StorageClass"] == "GLACIER"
    with refused("InvalidObjectState", 403):
        s3.get_object(Bucket=bucket, Key="k")
    with refused("ObjectNotInActiveTierError", 403):
        s3.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/k")


# Tags and attributes


def test_an_object_has_tags(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", Tagging="a=b&c=d%20e")
    named = {"Bucket": bucket, "Key": "k"}
    before = s3.head_object(**named)
    assert (before["TagCount"], s3.get_object_tagging(**named)["TagSet"]) == (
        2,
        [{"Key": "a", "Value": "b"}, {"Key": "c", "Value": "d e"}],
    )
    s3.put_object_tagging(**named, Tagging={"TagSet": [{"Key": "x", "Value": ""}]})
    assert s3.get_object_tagging(**named)["TagSet"] == [{"Key": "x", "Value": ""}]
    assert s3.head_object(**named)["ETag"] == before["ETag"]
    s3.delete_object_tagging(**named)
    assert s3.get_object_tagging(**named)["TagSet"] == []
    eleven = [{"Key": f"{number}", "Value": ""} for number in range(11)]
    with refused("BadRequest", 400):
        s3.put_object_tagging(**named, Tagging={"TagSet": eleven})


def test_attributes_are_those_that_were_asked_for(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"abc", ChecksumAlgorithm="SHA256")
    attributes = s3.get_object_attributes(
        Bucket=bucket, Key="k", ObjectAttributes=["ETag", "ObjectSize", "Checksum"]
    )
    assert attributes["ETag"] == hashlib.md5(b"abc").hexdigest()
    assert (attributes["ObjectSize"], "StorageClass" in attributes) == (3, False)
    assert attributes["Checksum"]["ChecksumSHA256"].endswith("=")
