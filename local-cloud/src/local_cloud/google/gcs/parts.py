"""Uploads in parts, of the XML API: each part is a file of its own until the last call joins them.

cloud.google.com/storage/docs/multipart-uploads. google-cloud-storage has them as
transfer_manager.upload_chunks_concurrently.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from local_cloud.google.gcs.call import Call
from local_cloud.google.gcs.contents import DEFAULT_TYPE, check_name
from local_cloud.google.gcs.errors import not_implemented
from local_cloud.google.gcs.model import SESSIONS, Insert, read_digests
from local_cloud.google.gcs.resources import (
    HEADERS,
    IN_PARTS,
    base64_of,
    etag,
    header,
    object_settings,
    shown_time,
)
from local_cloud.google.gcs.xml import XmlRefusal, answer, parse, stream_to
from local_cloud.google.rest import whole
from local_cloud.http.bodies import TooLarge
from local_cloud.json_types import Json
from local_cloud.store import files
from local_cloud.store.files import Digests
from local_cloud.store.objects import Objects
from local_cloud.store.values import Condition

# cloud.google.com/storage/quotas#requests
SMALLEST = 5 << 20  # bytes of each part but the last
_MOST_PARTS = 10_000
_MOST_SHOWN = 1000  # parts in one answer
_LARGEST_LIST = 2 << 20  # bytes of the list of parts that ends an upload
_UPLOADS = "gcs/upload in parts"
_METADATA, _GENERATION = "x-goog-meta-", "x-goog-if-generation-match"
_HARMLESS_ACLS = {"private", "project-private", "bucket-owner-full-control"}

Chunks = AsyncIterator[bytes]


def _no_such_upload() -> XmlRefusal:
    return XmlRefusal(404, "NoSuchUpload", "The requested upload was not found.")


class PartedUploads:
    """Handlers of /{bucket}/{object}?uploads and ?uploadId=…; a restart loses nothing."""

    def __init__(self, objects: Objects) -> None:
        """Store uploads in this store; those of buckets that are gone are forgotten."""
        self._objects, self._records = objects, objects.records
        there = {bucket.name for bucket in objects.buckets()}
        for upload, document in list(self._records.list(_UPLOADS)):
            with self._records.name_record_in_errors(_UPLOADS, upload):
                is_orphan = document["insert"]["bucket"] not in there
            if is_orphan:
                self._forget(upload)
        self._remove_unknown()

    def _remove_unknown(self) -> None:
        """Remove the files of parts that a crash has left without a record."""
        known = {upload for upload, _ in self._records.list(SESSIONS)}
        for upload, _ in self._records.list(_UPLOADS):
            known |= {part["file"] for _, part in self._records.list(_parts(upload))}
        for name in set(self._objects.list_kept()) - known:
            self._remove({"file": name})

    async def start_or_complete(self, call: Call, chunks: Chunks) -> Response:
        """POST ?uploads or ?uploadId=…"""
        if "uploads" in call.query:
            return await run_in_threadpool(self._start, call)
        body = b""
        async for chunk in chunks:
            body += chunk
            if len(body) > _LARGEST_LIST:
                raise TooLarge(_LARGEST_LIST)
        return await run_in_threadpool(self._complete, call, body)

    async def put(self, call: Call, chunks: Chunks) -> Response:
        """PUT ?partNumber=…&uploadId=…"""
        number = whole("partNumber", call.query.get("partNumber"))
        if number is None or not 1 <= number <= _MOST_PARTS:
            raise XmlRefusal(
                400,
                "InvalidArgument",
                "Invalid argument.",
                details=f"partNumber must be between 1 and {_MOST_PARTS}.",
            )
        await run_in_threadpool(self._find, call)
        kept = secrets.token_hex(32)
        path = await run_in_threadpool(self._objects.upload_file, kept)
        try:
            with self._objects.space.open(path) as file:
                async for chunk in chunks:
                    await run_in_threadpool(file.write, chunk)
            digests = await run_in_threadpool(self._keep, call, number, path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        hashes = f"crc32c={base64_of(digests.crc32c)},md5={base64_of(digests.md5)}"
        return Response(headers={"etag": f'"{digests.md5.hex()}"', "x-goog-hash": hashes})

    async def list_parts(self, call: Call, _: Chunks) -> Response:
        """GET ?uploadId=…"""
        return await run_in_threadpool(self._list_parts, call)

    async def list_uploads(self, call: Call, _: Chunks) -> Response:
        """GET /{bucket}?uploads"""
        return await run_in_threadpool(self._list_uploads, call)

    async def abort(self, call: Call, _: Chunks) -> Response:
        """DELETE ?uploadId=…"""
        await run_in_threadpool(self._find, call)
        await run_in_threadpool(self._forget, call.query["uploadId"])
        return Response(status_code=204)

    def _start(self, call: Call) -> Response:
        insert = _insert(call)
        self._objects.bucket(insert.bucket)
        upload = secrets.token_hex(32)
        self._records.put(_UPLOADS, upload, {"started": time.time(), "insert": asdict(insert)})
        content = {"Bucket": insert.bucket, "Key": insert.name, "UploadId": upload}
        return answer("InitiateMultipartUploadResult", content)

    def _find(self, call: Call) -> Insert:
        """Return what the upload is to become. Raises XmlRefusal, for ?uploads too."""
        document = self._records.get(_UPLOADS, call.query.get("uploadId", ""))
        where = [call.path("bucket"), call.path("object")]
        if document is None or [document["insert"][key] for key in ("bucket", "name")] != where:
            raise _no_such_upload()
        insert = document["insert"]
        return Insert(**insert | {"when": Condition(**insert["when"])})

    def _keep(self, call: Call, number: int, path: Path) -> Digests:
        """Make the file a part of the upload, in place of an earlier one with its number."""
        digests, _, _ = files.digest(path)
        sent = read_digests(call)
        sent["md5"] = call.headers.get("content-md5") or sent.get("md5", "")
        for name, computed in (("md5", digests.md5), ("crc32c", digests.crc32c)):
            if sent.get(name) and sent[name] != base64_of(computed):
                raise XmlRefusal(
                    400,
                    "BadDigest",
                    f"The {name} you specified did not match what we computed.",
                    details=f"Received {sent[name]}, computed {base64_of(computed)}.",
                )
        files.sync(path)
        upload = call.query["uploadId"]
        part = digests.as_document() | {
            "file": path.name,
            "size": path.stat().st_size,
            "modified": time.time(),
        }
        with self._records.transaction():
            self._find(call)  # it may have ended while the part came
            old = self._records.get(_parts(upload), str(number))
            self._records.put(_parts(upload), str(number), part)
        if old:
            self._remove(old)
        return digests

    def _complete(self, call: Call, body: bytes) -> Response:
        upload, insert = call.query["uploadId"], self._find(call)
        parts = self._select(upload, parse(body))
        joined = self._objects.upload_file()
        try:
            self._join(parts, joined)
            made = insert.put(self._objects, joined)
        finally:
            joined.unlink(missing_ok=True)
        self._forget(upload)
        content = {
            "Location": f"{call.base}/{insert.bucket}/{insert.name}",
            "Bucket": insert.bucket,
            "Key": insert.name,
            "ETag": f'"{etag(made)}"',
        }
        return answer("CompleteMultipartUploadResult", content)

    def _select(self, upload: str, root: Any) -> list[Json]:
        """Return the parts that the list names. Raises XmlRefusal."""
        wanted = [
            (each.findtext("{*}PartNumber") or "", each.findtext("{*}ETag") or "")
            for each in root.findall("{*}Part")
        ]
        if not wanted or not all(number.isdecimal() for number, _ in wanted):
            raise XmlRefusal(400, "MalformedXML", "A list of parts with their numbers is needed.")
        if not all(int(one) < int(next_one) for (one, _), (next_one, _) in pairwise(wanted)):
            raise XmlRefusal(
                400, "InvalidPartOrder", "The list of parts was not in ascending order."
            )
        parts: list[Json] = []
        for number, tag in wanted:
            part = self._records.get(_parts(upload), str(int(number)))
            if part is None or tag.strip().strip('"') != part["md5"]:
                raise XmlRefusal(
                    400,
                    "InvalidPart",
                    "One or more of the specified parts could not be found.",
                    details=f"Part {number} was not uploaded, or has another ETag.",
                )
            parts.append(part)
        for number, part in zip(wanted[:-1], parts[:-1], strict=True):
            if part["size"] < SMALLEST:
                raise XmlRefusal(
                    400,
                    "EntityTooSmall",
                    "A part is smaller than the minimum allowed size.",
                    details=f"Part {number[0]} has {part['size']} bytes; "
                    f"all but the last need {SMALLEST}.",
                )
        return parts

    def _join(self, parts: list[Json], path: Path) -> None:
        with self._objects.space.open(path) as joined:
            for part in parts:
                kept = self._objects.find_kept(part["file"])
                if kept is None:  # completed or aborted meanwhile
                    raise _no_such_upload()
                with kept.open("rb", buffering=0) as file:
                    files.append(joined, file, part["size"])

    def _list_parts(self, call: Call) -> Response:
        insert = self._find(call)
        after = whole("part-number-marker", call.query.get("part-number-marker")) or 0
        most = whole("max-parts", call.query.get("max-parts")) or _MOST_SHOWN
        all_parts = self._records.list(_parts(call.query["uploadId"]))
        following = sorted((int(number), part) for number, part in all_parts if int(number) > after)
        shown = following[: max(1, min(most, _MOST_SHOWN))]
        content: Json = {
            "Bucket": insert.bucket,
            "Key": insert.name,
            "UploadId": call.query["uploadId"],
            "StorageClass": insert.attributes.get("storageClass", "STANDARD"),
            "PartNumberMarker": after,
            "MaxParts": most,
            "NextPartNumberMarker": shown[-1][0] if shown else 0,
            "IsTruncated": str(len(following) > len(shown)).lower(),
            "Part": [
                {
                    "PartNumber": number,
                    "LastModified": shown_time(part["modified"]),
                    "ETag": f'"{part["md5"]}"',
                    "Size": part["size"],
                }
                for number, part in shown
            ],
        }
        return answer("ListPartsResult", content)

    def _list_uploads(self, call: Call) -> Response:
        bucket = call.path("bucket")
        self._objects.bucket(bucket)
        prefix = call.query.get("prefix", "")
        uploads = [
            (document["insert"]["name"], upload, document)
            for upload, document in self._records.list(_UPLOADS)
            if document["insert"]["bucket"] == bucket
            and document["insert"]["name"].startswith(prefix)
        ]
        uploads.sort(key=lambda each: (each[0], each[2]["started"]))
        content: Json = {"Bucket": bucket, "IsTruncated": "false", "Upload": []}
        content["Upload"] = [
            {"Key": name, "UploadId": upload, "Initiated": shown_time(document["started"])}
            for name, upload, document in uploads
        ]
        return answer("ListMultipartUploadsResult", content)

    def _forget(self, upload: str) -> None:
        with self._records.transaction():
            parts = [part for _, part in self._records.list(_parts(upload))]
            self._records.clear(_parts(upload))
            self._records.delete(_UPLOADS, upload)
        for part in parts:
            self._remove(part)

    def _remove(self, part: Json) -> None:
        kept = self._objects.find_kept(part["file"])
        if kept:
            kept.unlink(missing_ok=True)


def _parts(upload: str) -> str:
    return f"gcs/parts/{upload}"


def _insert(call: Call) -> Insert:
    """Return what the headers say of the object to be. Raises Refusal."""
    headers = call.headers
    if headers.get("x-goog-acl", "private") not in _HARMLESS_ACLS:
        raise not_implemented(f"header x-goog-acl: {headers['x-goog-acl']}")
    if "x-goog-encryption-kms-key-name" in headers:
        raise not_implemented("header x-goog-encryption-kms-key-name")
    settings: Json = {name: headers[key] for name, key in HEADERS.items() if key in headers}
    for name, key in (
        ("storageClass", "x-goog-storage-class"),
        ("customTime", "x-goog-custom-time"),
    ):
        if key in headers:
            settings[name] = headers[key]
    own = {
        name.removeprefix(_METADATA): value
        for name, value in headers.items()
        if name.startswith(_METADATA)
    }
    if own:
        settings["metadata"] = own
    return Insert(
        bucket=call.path("bucket"),
        name=check_name(call.path("object")),
        content_type=header("contentType", headers.get("content-type") or DEFAULT_TYPE),
        attributes=object_settings(settings) | {IN_PARTS: True},
        when=Condition(generation=whole(_GENERATION, headers.get(_GENERATION))),
        md5="",
        crc32c="",
    )


class _GoogleRoute(Route):
    """A route of requests that Google's clients send: S3's have the same paths."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the path and verb, a parameter of uploads in parts, and a header of Google's."""
        query = {each.partition(b"=")[0] for each in scope.get("query_string", b"").split(b"&")}
        if not query & {b"uploads", b"uploadId"} or not _is_from_google(scope):
            return Match.NONE, {}
        return super().matches(scope)


def _is_from_google(scope: Scope) -> bool:
    return any(
        name.startswith(b"x-goog-") or (name == b"authorization" and value.startswith(b"Bearer "))
        for name, value in scope["headers"]
    )


def routes(objects: Objects) -> list[BaseRoute]:
    """Return the routes of uploads in parts."""
    uploads = PartedUploads(objects)
    path = "/{bucket}/{object:path}"
    return [
        _GoogleRoute("/{bucket}", stream_to(uploads.list_uploads), methods=["GET"]),
        *(
            _GoogleRoute(path, stream_to(handler), methods=[verb])
            for verb, handler in (
                ("POST", uploads.start_or_complete),
                ("PUT", uploads.put),
                ("GET", uploads.list_parts),
                ("DELETE", uploads.abort),
            )
        ),
    ]
