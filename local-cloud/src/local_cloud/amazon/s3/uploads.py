"""Uploads in parts: each part a file of its own until the last call puts them together.

docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from local_cloud.amazon.s3 import checksums, conditions, descriptions
from local_cloud.amazon.s3.buckets import OWNER
from local_cloud.amazon.s3.contents import open_source
from local_cloud.amazon.s3.errors import Refusal, invalid, invalid_xml
from local_cloud.amazon.s3.listing import page_size, whole
from local_cloud.json_types import Json
from local_cloud.store import files
from local_cloud.store.errors import NoSuchObject
from local_cloud.store.objects import Objects
from local_cloud.store.values import Object

# docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
_SMALLEST = 5 << 20  # bytes of each part but the last
_MOST_PARTS = 10_000


class Uploads:
    """The operations on uploads in parts; a restart loses neither an upload nor a part."""

    def __init__(self, objects: Objects) -> None:
        """Store uploads in this store, whose kept files are all ours.

        Those without a record are removed.
        """
        self._objects, self._records = objects, objects.records
        recorded = {
            part["file"]
            for bucket in objects.buckets()
            for upload, _ in self._records.list(_uploads(bucket.name))
            for _, part in self._records.list(_parts(upload))
        }
        for name in objects.list_kept():
            if name not in recorded:
                self._remove(name)

    # One upload

    def create(self, params: Json) -> Json:
        """CreateMultipartUpload"""
        bucket, key = params["Bucket"], descriptions.check_key(params["Key"])
        self._objects.bucket(bucket)
        content_type, attributes = descriptions.settings(params)
        algorithm = params.get("ChecksumAlgorithm")
        kind = _checksum_type(algorithm, params.get("ChecksumType"))
        upload = secrets.token_hex(32)
        document = {"key": key, "started": time.time(), "algorithm": algorithm, "type": kind}
        document |= {"content_type": content_type, "attributes": attributes}
        self._records.put(_uploads(bucket), upload, document)
        return {
            "Bucket": bucket,
            "Key": key,
            "UploadId": upload,
            "ChecksumAlgorithm": algorithm,
            "ChecksumType": kind if algorithm else None,
            "ServerSideEncryption": attributes.get("ServerSideEncryption"),
        }

    def part(self, params: Json) -> Json:
        """UploadPart"""
        body = params["Body"]
        part = self._add(params, body.path, body.checksums)
        return {"ETag": f'"{part["md5"]}"', **part["checksums"]}

    def part_copy(self, params: Json) -> Json:
        """UploadPartCopy"""
        with open_source(self._objects, params) as (_, body):
            part = self._add(params, body, {})
        result = {"ETag": f'"{part["md5"]}"', "LastModified": part["modified"], **part["checksums"]}
        return {"CopyPartResult": result}

    def complete(self, params: Json) -> Json:
        """CompleteMultipartUpload; a client that asks again gets the same answer."""
        bucket, upload = params["Bucket"], params["UploadId"]
        if earlier := self._find_completed(params):
            return _result(earlier)
        document = self._upload(params)
        parts = self._select_parts(params)
        when = conditions.of_write(self._objects, params)
        body = self._objects.upload_file()
        try:
            self._join(parts, body)
            attributes = document["attributes"] | self._digests(document, parts, body)
            attributes["UploadId"] = upload
            _check_announced(params, attributes, sum(part["size"] for part in parts))
            made = self._objects.put(
                bucket,
                document["key"],
                body,
                content_type=document["content_type"],
                attributes=attributes,
                when=when,
            )
        finally:
            body.unlink(missing_ok=True)
        self._forget(bucket, upload)
        return _result(made)

    def abort(self, params: Json) -> Json:
        """AbortMultipartUpload"""
        self._upload(params)
        self._forget(params["Bucket"], params["UploadId"])
        return {}

    # Lists

    def parts(self, params: Json) -> Json:
        """ListParts"""
        document = self._upload(params)
        size = page_size(params, "MaxParts", "max-parts")
        after = whole(params, "PartNumberMarker", "part-number-marker", default=0)
        parts_after = [
            part for part in self._all_parts(params["UploadId"]) if part["number"] > after
        ]
        page = parts_after[:size]
        return {
            **{name: params[name] for name in ("Bucket", "Key", "UploadId")},
            "PartNumberMarker": after,
            "MaxParts": size,
            "NextPartNumberMarker": page[-1]["number"] if page else 0,
            "IsTruncated": len(parts_after) > size,
            "Parts": [
                {
                    "PartNumber": part["number"],
                    "LastModified": part["modified"],
                    "ETag": f'"{part["md5"]}"',
                    "Size": part["size"],
                    **part["checksums"],
                }
                for part in page
            ],
            "Initiator": OWNER,
            "Owner": OWNER,
            "StorageClass": document["attributes"]["StorageClass"],
            "ChecksumAlgorithm": document["algorithm"],
            "ChecksumType": document["type"] if document["algorithm"] else None,
        }

    def under_way(self, params: Json) -> Json:
        """ListMultipartUploads, by key and then by time."""
        bucket, prefix = params["Bucket"], params.get("Prefix", "")
        delimiter, size = (
            params.get("Delimiter", ""),
            page_size(params, "MaxUploads", "max-uploads"),
        )
        self._objects.bucket(bucket)
        rows = sorted(
            (document["key"], document["started"], upload, document)
            for upload, document in self._records.list(_uploads(bucket))
            if document["key"].startswith(prefix)
        )
        marker, upload_marker = params.get("KeyMarker", ""), params.get("UploadIdMarker", "")
        ids = [row[2] for row in rows]
        behind = ids.index(upload_marker) + 1 if marker and upload_marker in ids else None
        rows = rows[behind:] if behind is not None else [row for row in rows if row[0] > marker]
        uploads: list[Json] = []
        prefixes: dict[str, None] = {}
        last, is_cut = ("", ""), False
        for key, started, upload, document in rows:
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            group = key[: cut + len(delimiter)] if cut >= 0 else ""
            if group and (group in prefixes or group == marker):
                continue
            if len(uploads) + len(prefixes) == size:
                is_cut = True
                break
            if group:
                prefixes[group], last = None, (group, "")
                continue
            last = (key, upload)
            uploads.append(
                {
                    "Key": key,
                    "UploadId": upload,
                    "Initiated": started,
                    "StorageClass": document["attributes"]["StorageClass"],
                    "Owner": OWNER,
                    "Initiator": OWNER,
                    "ChecksumAlgorithm": document["algorithm"],
                    "ChecksumType": document["type"] if document["algorithm"] else None,
                }
            )
        return {
            "Bucket": bucket,
            "Prefix": prefix,
            "Delimiter": delimiter or None,
            "KeyMarker": marker,
            "UploadIdMarker": upload_marker,
            "MaxUploads": size,
            "NextKeyMarker": last[0] if is_cut else None,
            "NextUploadIdMarker": last[1] if is_cut else None,
            "IsTruncated": is_cut,
            "Uploads": uploads,
            "CommonPrefixes": [{"Prefix": group} for group in prefixes],
        }

    def forget_all(self, bucket: str) -> None:
        """Remove what is under way into a bucket that is no more."""
        for upload, _ in list(self._records.list(_uploads(bucket))):
            self._forget(bucket, upload)

    # Shared by several of the above

    def _upload(self, params: Json) -> Json:
        self._objects.bucket(params["Bucket"])
        document = self._records.get(_uploads(params["Bucket"]), params["UploadId"])
        if document is None or document["key"] != params["Key"]:
            raise _no_such_upload(params["UploadId"])
        return document

    def _find_completed(self, params: Json) -> Object | None:
        """Return the object that this upload has become, as long as it is there."""
        if self._records.get(_uploads(params["Bucket"]), params["UploadId"]):
            return None
        with suppress(NoSuchObject):
            completed = self._objects.get(params["Bucket"], params["Key"])
            if completed.attributes.get("UploadId") == params["UploadId"]:
                return completed
        return None

    def _add(self, params: Json, body: Path, sums: dict[str, str]) -> Json:
        """Keep a part; it takes the place of an earlier one of the same number."""
        document = self._upload(params)
        number, upload = params["PartNumber"], params["UploadId"]
        if not 1 <= number <= _MOST_PARTS:
            message = f"Part number must be an integer between 1 and {_MOST_PARTS}, inclusive"
            raise invalid(message, ArgumentName="partNumber", ArgumentValue=number)
        algorithm = document["algorithm"]
        if algorithm and f"Checksum{algorithm}" not in sums:
            sums = {f"Checksum{algorithm}": checksums.of_file(body, algorithm)}
        digests, identity, _ = files.digest(body)
        part = {
            "number": number,
            "size": identity[1],
            "md5": digests.md5.hex(),
            "checksums": sums,
            "modified": time.time(),
            "file": secrets.token_hex(16),
        }
        kept = self._objects.upload_file(keep=part["file"])
        files.sync(body)
        body.replace(kept)
        files.sync(kept.parent)
        name = f"{number:05}"
        with self._records.transaction():
            is_wanted = self._records.get(_uploads(params["Bucket"]), upload) is not None
            old = self._records.get(_parts(upload), name)
            if is_wanted:
                self._records.put(_parts(upload), name, part)
        if not is_wanted:  # aborted or completed meanwhile
            self._remove(part["file"])
            raise _no_such_upload(upload)
        if old:
            self._remove(old["file"])
        return part

    def _all_parts(self, upload: str) -> list[Json]:
        return [part for _, part in self._records.list(_parts(upload))]

    def _select_parts(self, params: Json) -> list[Json]:
        """Return the parts that the client names, in their order. Raises Refusal."""
        named = params.get("MultipartUpload", {}).get("Parts", [])
        if not named or any("PartNumber" not in one or "ETag" not in one for one in named):
            raise invalid_xml()
        if any(one["PartNumber"] >= other["PartNumber"] for one, other in pairwise(named)):
            message = "The list of parts was not in ascending order. Parts must be ordered by part"
            raise Refusal("InvalidPartOrder", f"{message} number.", UploadId=params["UploadId"])
        there = {part["number"]: part for part in self._all_parts(params["UploadId"])}
        chosen = []
        for one in named:
            part = there.get(one["PartNumber"])
            if part is None or not _is_same(part, one):
                raise Refusal(
                    "InvalidPart",
                    "One or more of the specified parts could not be found.  The part may not have "
                    "been uploaded, or the specified entity tag may not match the part's entity "
                    "tag.",
                    **{"UploadId": params["UploadId"], "PartNumber": one["PartNumber"]},
                    ETag=one["ETag"].strip('"'),
                )
            chosen.append(part)
        for part in chosen[:-1]:
            if part["size"] < _SMALLEST:
                raise Refusal(
                    "EntityTooSmall",
                    "Your proposed upload is smaller than the minimum allowed object size.",
                    **{"ProposedSize": part["size"], "MinSizeAllowed": _SMALLEST},
                    **{"PartNumber": part["number"], "ETag": part["md5"]},
                )
        return chosen

    def _join(self, parts: Sequence[Json], body: Path) -> None:
        with self._objects.space.open(body) as whole:
            for part in parts:
                kept = self._objects.find_kept(part["file"])
                if kept is None:  # completed or aborted meanwhile
                    raise _no_such_upload("")
                with kept.open("rb", buffering=0) as file:
                    files.append(whole, file, part["size"])

    def _digests(self, document: Json, parts: Sequence[Json], body: Path) -> dict[str, Any]:
        """Return what is kept of the parts.

        That is their sizes, and the digests that S3 makes of theirs.
        """
        md5 = hashlib.md5(usedforsecurity=False)
        for part in parts:
            md5.update(bytes.fromhex(part["md5"]))
        digests: dict[str, Any] = {
            "ETag": f"{md5.hexdigest()}-{len(parts)}",
            "PartSizes": [part["size"] for part in parts],
        }
        if algorithm := document["algorithm"]:
            member = f"Checksum{algorithm}"
            sums = [part["checksums"][member] for part in parts]
            is_whole = document["type"] == "FULL_OBJECT"
            digests[member] = (
                checksums.of_file(body, algorithm)
                if is_whole
                else checksums.of_parts(algorithm, sums)
            )
            digests["ChecksumType"] = document["type"]
        return digests

    def _forget(self, bucket: str, upload: str) -> None:
        """Remove the upload and its parts: first the records, so that none is without its file."""
        with self._records.transaction():
            parts = self._all_parts(upload)
            self._records.delete(_uploads(bucket), upload)
            self._records.clear(_parts(upload))
        for part in parts:
            self._remove(part["file"])

    def _remove(self, name: str) -> None:
        if kept := self._objects.find_kept(name):
            kept.unlink(missing_ok=True)


def _uploads(bucket: str) -> str:
    """Return the kind of the records of uploads into a bucket; their names are the uploads' ids."""
    return f"s3/upload/{bucket}"


def _parts(upload: str) -> str:
    """Return the kind of the records of an upload's parts; their names are their numbers."""
    return f"s3/part/{upload}"


def _result(made: Object) -> Json:
    return {
        "Location": f"/{made.bucket}/{made.name}",
        "Bucket": made.bucket,
        "Key": made.name,
        "ETag": descriptions.etag(made),
        **descriptions.checksums(made.attributes),
        "ServerSideEncryption": made.attributes.get("ServerSideEncryption"),
    }


def _no_such_upload(upload: str) -> Refusal:
    message = "The specified upload does not exist. The upload ID may be invalid, or the upload may"
    message += " have been aborted or completed."
    return Refusal("NoSuchUpload", message, 404, UploadId=upload)


def _checksum_type(algorithm: str | None, requested: str | None) -> str | None:
    """Return how the whole's checksum is made of the parts' ones. Raises Refusal."""
    if algorithm is None:
        if requested is not None:
            message = "The x-amz-checksum-type header can only be used with the"
            raise Refusal("InvalidRequest", message + " x-amz-checksum-algorithm header.")
        return None
    checksums.require_algorithm(algorithm)
    kind = requested or ("FULL_OBJECT" if algorithm == "CRC64NVME" else "COMPOSITE")
    is_crc = algorithm.startswith("CRC")
    if kind not in ("FULL_OBJECT", "COMPOSITE"):
        raise invalid(f"Value for x-amz-checksum-type header is invalid: {kind}")
    if (kind == "FULL_OBJECT" and not is_crc) or (kind == "COMPOSITE" and algorithm == "CRC64NVME"):
        message = f"The {kind} checksum type cannot be used with the {algorithm.lower()} checksum"
        raise Refusal("InvalidRequest", message + " algorithm.")
    return kind


def _is_same(part: Json, named: Json) -> bool:
    """Return whether the part that is there is the one that the client means."""
    sums = {name: value for name, value in named.items() if name.startswith("Checksum")}
    return named["ETag"].strip('"') == part["md5"] and all(
        part["checksums"].get(name, value) == value for name, value in sums.items()
    )


def _check_announced(params: Json, attributes: Json, size: int) -> None:
    """Raise Refusal where the whole is not what the client says that it is."""
    for name in checksums.MEMBERS & params.keys() & attributes.keys():
        if params[name].partition("-")[0] != attributes[name].partition("-")[0]:
            message = f"The {name.removeprefix('Checksum')} you specified did not match the"
            raise Refusal("BadDigest", message + " calculated checksum.")
    if params.get("MpuObjectSize", size) != size:
        message = "The provided 'x-amz-mp-object-size' header value does not match what was"
        raise Refusal("InvalidRequest", f"{message} computed: {size}")
