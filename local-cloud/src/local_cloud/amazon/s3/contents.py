"""Objects: put, get, head, delete, copy, attributes, tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

from botocore.model import OperationModel
from starlette.responses import Response

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.s3 import checksums, conditions, descriptions, tags, writing
from local_cloud.amazon.s3.descriptions import HEADERS, etag
from local_cloud.amazon.s3.errors import (
    Refusal,
    from_store,
    invalid,
    invalid_xml,
    precondition_failed,
)
from local_cloud.amazon.s3.operations import model
from local_cloud.http.download import Download, Unsatisfiable, slice_of
from local_cloud.json_types import Json
from local_cloud.store import files
from local_cloud.store.errors import NoSuchObject, StoreError
from local_cloud.store.objects import Objects
from local_cloud.store.values import Attributes, Condition, Object

_MOST_DELETED = 1000  # docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
_PARTS_OF_ATTRIBUTES = {"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"}


class Contents:
    """The operations on objects, but for lists and uploads in parts."""

    def __init__(self, objects: Objects) -> None:
        """Serve the objects of this store."""
        self._objects = objects

    # Writing

    def put(self, params: Json) -> Json:
        """PutObject"""
        key = descriptions.check_key(params["Key"])
        content_type, attributes = descriptions.settings(params)
        sums = params["Body"].checksums
        if sums:
            attributes |= sums | {"ChecksumType": "FULL_OBJECT"}
        made = self._objects.put(
            params["Bucket"],
            key,
            params["Body"].path,
            content_type=content_type,
            attributes=attributes,
            when=conditions.of_write(self._objects, params),
        )
        return _describe_write(made)

    def copy(self, params: Json) -> Json:
        """CopyObject"""
        bucket, key = params["Bucket"], descriptions.check_key(params["Key"])
        source = copy_source(params["CopySource"])
        if source == (bucket, key) and not _changes(params):
            raise Refusal(
                "InvalidRequest",
                "This copy request is illegal because it is trying to copy an object to itself "
                "without changing the object's metadata, storage class, website redirect location "
                "or encryption attributes.",
            )
        with open_source(self._objects, params) as (stored, body):
            content_type, attributes = _settings_of_copy(params, stored)
            if algorithm := params.get("ChecksumAlgorithm"):
                sums = {
                    f"Checksum{algorithm}": checksums.of_file(
                        body, checksums.require_algorithm(algorithm)
                    )
                }
                attributes |= sums | {"ChecksumType": "FULL_OBJECT"}
            elif stored.attributes.get("ChecksumType") == "FULL_OBJECT":
                attributes |= descriptions.checksums(stored.attributes)
            made = self._objects.put(
                bucket,
                key,
                body,
                content_type=content_type,
                attributes=attributes,
                when=conditions.of_write(self._objects, params),
            )
        result = {"ETag": etag(made), "LastModified": made.created}
        result |= descriptions.checksums(made.attributes)
        shown = made.attributes.get("ServerSideEncryption")
        return {"CopyObjectResult": result, "ServerSideEncryption": shown}

    def delete(self, params: Json) -> Json:
        """DeleteObject; that there is none is no error."""
        self._delete(params["Bucket"], descriptions.check_key(params["Key"]), params)
        return {}

    def delete_many(self, params: Json) -> Json:
        """DeleteObjects"""
        bucket, wanted = params["Bucket"], params["Delete"]["Objects"]
        if not 1 <= len(wanted) <= _MOST_DELETED:
            raise invalid_xml()
        self._objects.bucket(bucket)
        deleted, errors = [], []
        for each in wanted:
            named = {name: each[name] for name in ("Key", "VersionId") if name in each}
            try:
                check_version(each.get("VersionId"))
                given = {"IfMatch": each["ETag"]} if "ETag" in each else {}
                self._delete(bucket, descriptions.check_key(each["Key"]), given)
                deleted.append(named)
            except (ServiceError, StoreError) as problem:
                refusal = (
                    from_store(problem, bucket) if isinstance(problem, StoreError) else problem
                )
                errors.append(named | {"Code": refusal.code, "Message": str(refusal)})
        is_quiet = params["Delete"].get("Quiet", False)
        return {"Deleted": [] if is_quiet else deleted, "Errors": errors}

    def _delete(self, bucket: str, key: str, params: Json) -> None:
        when = Condition()
        if "IfMatch" in params:
            stored = self._objects.get(bucket, key)
            if params["IfMatch"].strip('"') not in ("*", etag(stored).strip('"')):
                raise precondition_failed("If-Match")
            when = Condition(generation=stored.generation)
        with suppress(NoSuchObject):
            self._objects.delete(bucket, key, when)

    # Reading

    def get(self, params: Json) -> Response:
        """GetObject"""
        stored, file = self._objects.open(params["Bucket"], descriptions.check_key(params["Key"]))
        try:
            if storage := _archive(stored):
                message = "The operation is not valid for the object's storage class"
                raise Refusal("InvalidObjectState", message, 403, StorageClass=storage)
            part, status, head = _read("GetObject", params, stored)
            return Download(file, part, status=status, headers=head)
        except BaseException:
            file.close()
            raise

    def head(self, params: Json) -> Response:
        """HeadObject"""
        stored = self._objects.get(params["Bucket"], descriptions.check_key(params["Key"]))
        (start, stop), status, head = _read("HeadObject", params, stored)
        return Response(status_code=status, headers=head | {"content-length": str(stop - start)})

    def attributes(self, params: Json) -> Json:
        """GetObjectAttributes"""
        wanted = set(params["ObjectAttributes"]) - {""}
        if unknown := wanted - _PARTS_OF_ATTRIBUTES:
            raise invalid(f"Invalid attribute name specified: {', '.join(sorted(unknown))}")
        stored = self._objects.get(params["Bucket"], params["Key"])
        sizes = stored.attributes.get("PartSizes")
        sums = descriptions.checksums(stored.attributes)
        result = {
            "ETag": etag(stored).strip('"'),
            # Here, and nowhere else, without the number of parts.
            "Checksum": {name: text.partition("-")[0] for name, text in sums.items()} or None,
            "ObjectParts": {"TotalPartsCount": len(sizes)} if sizes else None,
            "StorageClass": descriptions.storage_class(stored) or "STANDARD",
            "ObjectSize": stored.size,
        }
        result = {name: value for name, value in result.items() if name in wanted}
        return result | {"LastModified": stored.created}

    # Tags

    def get_tagging(self, params: Json) -> Json:
        """GetObjectTagging"""
        stored = self._objects.get(params["Bucket"], params["Key"])
        return tags.to_set(stored.attributes.get("Tags", {}))

    def tag(self, params: Json) -> Json:
        """PutObjectTagging"""
        return self._tag(params, tags.of_set(params["Tagging"], 10))

    def untag(self, params: Json) -> Json:
        """DeleteObjectTagging"""
        return self._tag(params, {})

    def _tag(self, params: Json, given: tags.Tags) -> Json:
        def change(old: Object) -> tuple[str, Attributes]:
            return old.content_type, old.attributes | {"Tags": given}

        self._objects.update(params["Bucket"], params["Key"], change)
        return {}


def copy_source(text: str) -> tuple[str, str]:
    """Return bucket and name in the header x-amz-copy-source. Raises Refusal."""
    path, _, version = text.partition("?versionId=")
    check_version(version or None)
    try:
        bucket, _, key = unquote(path, errors="strict").removeprefix("/").partition("/")
    except UnicodeDecodeError:
        bucket = key = ""
    if not bucket or not key or bucket.startswith("arn:"):
        message = "Copy Source must mention the source bucket and key: sourcebucket/sourcekey"
        raise invalid(message, ArgumentName="x-amz-copy-source", ArgumentValue=text)
    return bucket, descriptions.check_key(key)


@contextmanager
def open_source(objects: Objects, params: Json) -> Iterator[tuple[Object, Path]]:
    """Yield the source of a copy, and a file with its bytes (or a range), which is then removed."""
    stored, file = objects.open(*copy_source(params["CopySource"]))
    body = objects.upload_file()
    try:
        with file, objects.space.open(body) as target:
            if _archive(stored):
                message = "The source object of the COPY action is not in the active tier and is"
                message += " only stored in Amazon S3 Glacier."
                raise Refusal("ObjectNotInActiveTierError", message, 403)
            conditions.check_source(params, stored)
            start, stop = _source_range(params.get("CopySourceRange"), stored.size)
            file.seek(start)
            files.append(target, file, stop - start)
        yield stored, body
    finally:
        body.unlink(missing_ok=True)


def _archive(stored: Object) -> str | None:
    """Return the archive that the object is in: it cannot be read before it has been restored."""
    storage = descriptions.storage_class(stored)
    return storage if storage in ("GLACIER", "DEEP_ARCHIVE") else None


def _source_range(text: str | None, size: int) -> tuple[int, int]:
    """Return the bytes of the source that become a part: there must be all that were named."""
    if text is None:
        return 0, size
    match = re.fullmatch(r"bytes=([0-9]{1,18})-([0-9]{1,18})", text)
    if match is None or int(match[2]) < int(match[1]):
        message = "The x-amz-copy-source-range value must be of the form bytes=first-last where "
        message += "first and last are the zero-based offsets of the first and last bytes to copy"
        raise invalid(message, ArgumentName="x-amz-copy-source-range", ArgumentValue=text)
    if int(match[2]) >= size:
        message = f"Range specified is not valid for source object of size: {size}"
        raise invalid(message, ArgumentName="x-amz-copy-source-range", ArgumentValue=text)
    return int(match[1]), int(match[2]) + 1


def _changes(params: Json) -> bool:
    """Return whether a copy to itself would change anything."""
    return (
        params.get("MetadataDirective") == "REPLACE"
        or params.get("TaggingDirective") == "REPLACE"
        or bool({"StorageClass", "ServerSideEncryption", "WebsiteRedirectLocation"} & params.keys())
    )


def _settings_of_copy(params: Json, stored: Object) -> tuple[str, Attributes]:
    """Return a copy's content type and attributes: its source's, or those in the request."""
    for name in ("MetadataDirective", "TaggingDirective"):
        if params.get(name, "COPY") not in ("COPY", "REPLACE"):
            raise invalid(f"Unknown {'metadata' if name[0] == 'M' else 'tagging'} directive.")
    content_type, attributes = descriptions.settings(params)
    if params.get("MetadataDirective", "COPY") == "COPY":
        content_type = stored.content_type
        kept = {*HEADERS, "Metadata"} & stored.attributes.keys() - {"WebsiteRedirectLocation"}
        attributes |= {name: stored.attributes[name] for name in kept}
    if params.get("TaggingDirective", "COPY") == "COPY":
        attributes["Tags"] = stored.attributes.get("Tags", {})
    return content_type, attributes


def _describe_write(made: Object) -> Json:
    """Return what is said of an object that has just been written."""
    return {
        "ETag": etag(made),
        "ServerSideEncryption": made.attributes.get("ServerSideEncryption"),
        **descriptions.checksums(made.attributes),
    }


def _read(name: str, params: Json, stored: Object) -> tuple[tuple[int, int], int, dict[str, str]]:
    """Return of a read: first byte and the one behind the last, status, headers. Raises Refusal."""
    conditions.check_read(params, stored)
    result = descriptions.headers(stored)
    part = _part(params, stored, result)
    start, stop = part or (0, stored.size)
    if part:
        result["ContentRange"] = f"bytes {start}-{stop - 1}/{stored.size}"
    if params.get("ChecksumMode") == "ENABLED" and (start, stop) == (0, stored.size):
        result |= descriptions.checksums(stored.attributes)
    for override in (each for each in params if each.startswith("Response")):
        result[override.removeprefix("Response")] = params[override]
    operation: OperationModel = model(name)
    known = operation.output_shape.members
    head = writing.headers(operation, {key: result[key] for key in result if key in known})
    return (start, stop), 206 if part else 200, head


def _part(params: Json, stored: Object, result: Json) -> tuple[int, int] | None:
    """Return the bytes that were asked for; None for all.

    The number of parts is added to the result.
    """
    number = params.get("PartNumber")
    if number is None:
        return _range(params.get("Range"), stored.size)
    if "Range" in params:
        message = "Cannot specify both Range header and partNumber query parameter"
        raise Refusal("InvalidRequest", message)
    sizes = stored.attributes.get("PartSizes")
    if not 1 <= number <= len(sizes or [1]):
        message = "The requested partnumber is not satisfiable"
        raise Refusal("InvalidPartNumber", message, 416, PartNumberRequested=number)
    if not stored.size:
        return None
    if not sizes:
        return 0, stored.size
    result["PartsCount"] = len(sizes)
    start = sum(sizes[: number - 1])
    return start, start + sizes[number - 1]


def _range(header: str | None, size: int) -> tuple[int, int] | None:
    try:
        return slice_of(header, size)
    except Unsatisfiable:
        message = "The requested range is not satisfiable"
        refusal = Refusal(
            "InvalidRange", message, 416, RangeRequested=header, ActualObjectSize=size
        )
        refusal.headers = {"content-range": f"bytes */{size}"}
        raise refusal from None


def check_version(version: str | None) -> None:
    """Raise Refusal for a version: a bucket without versions has one of each object, "null"."""
    if version not in (None, "null"):
        raise invalid("Invalid version id specified", ArgumentName="versionId")
