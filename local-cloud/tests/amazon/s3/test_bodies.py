"""Bodies: whatever chunks they come in, and checked against what was announced of them."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import socket
import zlib
from typing import Any
from urllib.parse import urlsplit

import boto3
import google_crc32c
import pytest
from botocore.config import Config
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.amazon.s3.aws_chunked import ChunkedBody
from local_cloud.amazon.s3.checksums import HASHERS, crc64nvme
from local_cloud.amazon.s3.errors import Refusal
from tests.amazon.s3.support import refused, send

UNSIGNED = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}
SIGNATURE = ";chunk-signature=" + "0" * 64


def encoded(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def chunked(pieces: list[bytes], trailers: dict[str, str], mark: str = "") -> bytes:
    """A body in aws-chunked."""
    body = b"".join(b"%x%s\r\n%s\r\n" % (len(each), mark.encode(), each) for each in pieces)
    lines = "".join(f"{name}:{value}\r\n" for name, value in trailers.items())
    return body + f"0{mark}\r\n{lines}\r\n".encode()


# aws-chunked


@given(st.lists(st.binary(min_size=1, max_size=40)), st.lists(st.integers(1, 30)), st.booleans())
def test_a_body_is_the_same_however_it_is_cut(
    pieces: list[bytes], cuts: list[int], is_signed: bool
) -> None:
    body = chunked(pieces, {"x-amz-checksum-crc32": "AAAA"}, SIGNATURE if is_signed else "")
    decoder, decoded, at = ChunkedBody(), b"", 0
    for cut in [*cuts, len(body)]:
        decoded += decoder.feed(body[at : at + cut])
        at += cut
    decoder.finish()
    assert decoded == b"".join(pieces)
    assert decoder.trailers == {"x-amz-checksum-crc32": "AAAA"}


@given(st.lists(st.binary(min_size=1, max_size=9), min_size=1), st.data())
def test_a_body_that_breaks_off_is_refused(pieces: list[bytes], data: st.DataObject) -> None:
    body = chunked(pieces, {})
    decoder = ChunkedBody()
    end = len(body) - len("0\r\n\r\n")
    decoder.feed(body[: data.draw(st.integers(0, end))])
    with pytest.raises(Refusal):
        decoder.finish()


@given(st.binary(max_size=200))
def test_what_is_no_such_body_is_refused_or_is_not_at_its_end(body: bytes) -> None:
    decoder = ChunkedBody()
    try:
        decoder.feed(body)
        decoder.finish()
    except Refusal as refusal:
        assert refusal.code == "IncompleteBody"
    else:
        assert b"0" in body


@pytest.mark.parametrize("mark", ["", SIGNATURE])
def test_chunks_arrive(s3: Any, bucket: str, mark: str) -> None:
    content = b"a" * 70_000 + b"end"
    kind = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" if mark else UNSIGNED["x-amz-content-sha256"]
    headers = {
        "x-amz-content-sha256": kind,
        "content-encoding": "aws-chunked,gzip",
        "x-amz-decoded-content-length": str(len(content)),
    }
    body = chunked([content[:70_000], b"end"], {}, mark)
    assert send("PUT", f"/{bucket}/k", body, headers)[0] == 200
    stored = s3.get_object(Bucket=bucket, Key="k")
    assert (stored["Body"].read(), stored["ContentEncoding"]) == (content, "gzip")


def test_a_checksum_can_come_behind_the_body(s3: Any, bucket: str) -> None:
    headers = UNSIGNED | {
        "x-amz-trailer": "x-amz-checksum-crc32",
        "content-encoding": "aws-chunked",
    }
    good = {"x-amz-checksum-crc32": encoded(zlib.crc32(b"text").to_bytes(4, "big"))}
    status, _, answer = send("PUT", f"/{bucket}/k", chunked([b"text"], good), headers)
    assert (status, answer["x-amz-checksum-crc32"]) == (200, *good.values())
    assert "ContentEncoding" not in s3.head_object(Bucket=bucket, Key="k")
    bad = {"x-amz-checksum-crc32": "AAAAAA=="}
    status, body, _ = send("PUT", f"/{bucket}/k", chunked([b"other"], bad), headers)
    assert (status, b"<Code>BadDigest</Code>" in body) == (400, True)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"text"


def test_a_body_of_another_size_than_announced_is_refused(s3: Any, bucket: str) -> None:
    headers = UNSIGNED | {"x-amz-decoded-content-length": "5"}
    status, body, _ = send("PUT", f"/{bucket}/k", chunked([b"text"], {}), headers)
    assert (status, b"<Code>IncompleteBody</Code>" in body) == (400, True)


# Checksums

SUMS = {
    "CRC32": lambda content: zlib.crc32(content).to_bytes(4, "big"),
    "CRC32C": lambda content: google_crc32c.value(content).to_bytes(4, "big"),
    "SHA1": lambda content: hashlib.sha1(content).digest(),
    "SHA256": lambda content: hashlib.sha256(content).digest(),
    "SHA512": lambda content: hashlib.sha512(content).digest(),
}


@given(st.lists(st.binary(max_size=50)), st.sampled_from(sorted(SUMS)))
def test_a_checksum_is_the_same_of_the_whole_and_in_pieces(pieces: list[bytes], name: str) -> None:
    hasher = HASHERS[name]()
    for piece in pieces:
        hasher.update(piece)
    assert hasher.digest() == SUMS[name](b"".join(pieces))


def test_the_check_value_of_crc64nvme() -> None:
    """NVM Command Set Specification 1.0; also in reveng's catalogue of CRCs."""
    assert crc64nvme(0, b"123456789") == 0xAE8B14860A799888
    assert crc64nvme(crc64nvme(0, b"1234"), b"56789") == 0xAE8B14860A799888


@pytest.mark.parametrize("name", [*SUMS, "CRC64NVME"])
def test_a_checksum_is_compared_kept_and_given_back(s3: Any, bucket: str, name: str) -> None:
    member = f"Checksum{name}"
    hasher = HASHERS[name]()
    hasher.update(b"text")
    good = encoded(hasher.digest())
    made = s3.put_object(Bucket=bucket, Key="k", Body=b"text", **{member: good})
    assert made[member] == good
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert (head[member], head["ChecksumType"]) == (good, "FULL_OBJECT")
    assert member not in s3.head_object(Bucket=bucket, Key="k")
    copied = s3.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/k")
    assert copied["CopyObjectResult"][member] == good
    bad = encoded(bytes(len(hasher.digest())))
    with refused("BadDigest", 400):
        s3.put_object(Bucket=bucket, Key="k", Body=b"text", **{member: bad})
    with refused("InvalidRequest", 400):
        s3.put_object(Bucket=bucket, Key="k", Body=b"text", **{member: "AAAA"})


def test_an_md5_is_compared(s3: Any, bucket: str) -> None:
    good = encoded(hashlib.md5(b"text").digest())
    s3.put_object(Bucket=bucket, Key="k", Body=b"text", ContentMD5=good)
    with refused("BadDigest", 400):
        s3.put_object(Bucket=bucket, Key="k", Body=b"other", ContentMD5=good)
    with refused("InvalidDigest", 400):
        s3.put_object(Bucket=bucket, Key="k", Body=b"text", ContentMD5="AAAA")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"text"


def test_two_checksums_are_one_too_many(bucket: str) -> None:
    headers = {"x-amz-checksum-crc32": "AAAAAA==", "x-amz-checksum-crc32c": "AAAAAA=="}
    status, body, _ = send("PUT", f"/{bucket}/k", b"", headers)
    assert (status, b"<Code>InvalidRequest</Code>" in body) == (400, True)


def test_the_body_of_a_call_is_compared_too(s3: Any, bucket: str) -> None:
    body = b"<Delete><Object><Key>k</Key></Object></Delete>"
    status, answer, _ = send("POST", f"/{bucket}?delete", body, {"content-md5": "A" * 22 + "=="})
    assert (status, b"<Code>BadDigest</Code>" in answer) == (400, True)


# XML


@pytest.mark.parametrize(
    "body",
    [
        b"<Delete><Object><Key>k</Key></Object>",
        b"<Other><Object><Key>k</Key></Object></Other>",
        b"<Delete><Object><Name>k</Name></Object></Delete>",
        b"<Delete><Object/></Delete>",
        b"<Delete><Quiet>true</Quiet></Delete>",
        b'<!DOCTYPE d [<!ENTITY e "k">]><Delete><Object><Key>&e;</Key></Object></Delete>',
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE d [<!ENTITY e "k">]><d/>'.encode(
            "utf-16"
        ),
        b"<Delete>" * 100_000,
        b"\xff",
    ],
)
def test_xml_that_is_not_what_the_call_takes_is_refused(bucket: str, body: bytes) -> None:
    status, answer, _ = send("POST", f"/{bucket}?delete", body)
    assert (status, b"<Code>MalformedXML</Code>" in answer) == (400, True), answer


def test_xml_has_a_limit_and_must_be_there(bucket: str) -> None:
    status, answer, _ = send("POST", f"/{bucket}?delete", b" " * (9 << 20))
    assert (status, b"MaxMessageLengthExceeded" in answer) == (400, True)
    status, answer, _ = send("POST", f"/{bucket}?delete")
    assert (status, b"MissingRequestBodyError" in answer) == (400, True)


# Clients that ask before they send


@pytest.mark.parametrize(("name", "status"), [("bucket", b"200"), ("no-such-bucket", b"404")])
def test_who_waits_for_100_continue_is_told_to_go_on(bucket: str, name: str, status: bytes) -> None:
    address = urlsplit(os.environ["AWS_ENDPOINT_URL"])
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        head = f"PUT {address.path}/{name}/k HTTP/1.1\r\nHost: {address.netloc}\r\n"
        head += "Content-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"text")
        answer = b""
        while data := connection.recv(1000):
            answer += data
        assert answer.startswith(b"HTTP/1.1 " + status)


def test_a_body_without_an_announced_size_arrives(s3: Any, bucket: str) -> None:
    address = urlsplit(os.environ["AWS_ENDPOINT_URL"])
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        head = f"PUT {address.path}/{bucket}/k HTTP/1.1\r\nHost: {address.netloc}\r\n"
        head += "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\ntext\r\n0\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"text"


def test_who_goes_away_leaves_the_old_object(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"old")
    address = urlsplit(os.environ["AWS_ENDPOINT_URL"])
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        head = f"PUT {address.path}/{bucket}/k HTTP/1.1\r\nHost: {address.netloc}\r\n"
        connection.sendall(f"{head}Content-Length: 1000\r\n\r\nnew".encode())
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"old"


# Presigned addresses


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_a_presigned_address_works_until_it_has_expired(s3: Any, bucket: str, version: str) -> None:
    client = boto3.client("s3", config=Config(signature_version=version))
    base = os.environ["AWS_ENDPOINT_URL"]
    named = {"Bucket": bucket, "Key": "a b/é"}

    def address(operation: str, seconds: int) -> str:
        made: str = client.generate_presigned_url(operation, Params=named, ExpiresIn=seconds)
        assert made.startswith(base)
        return made.removeprefix(base)

    assert send("PUT", address("put_object", 60), b"text")[0] == 200
    assert send("GET", address("get_object", 60))[1] == b"text"
    old = re.sub("X-Amz-Date=[0-9TZ]+", "X-Amz-Date=20200101T000000Z", address("get_object", 60))
    old = re.sub("&Expires=[0-9]+", "&Expires=1577836800", old)
    status, body, _ = send("GET", old)
    assert (status, b"<Code>AccessDenied</Code>" in body) == (403, True)
    assert b"<Message>Request has expired</Message>" in body
    status, body, _ = send("GET", re.sub("Expires=[0-9]+", "Expires=soon", old))
    assert (status, b"AuthorizationQueryParametersError" in body) == (400, True)
    for never in ("-99999999999999", "0"):
        query = f"AWSAccessKeyId=x&Signature=y&Expires={never}"
        assert send("GET", f"/{bucket}/k?{query}")[0] == 403
