"""S3's REST API: which operation a request is, what it takes, and how it is answered."""

from __future__ import annotations

import logging
import re
import secrets
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import unquote

from botocore.model import OperationModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from local_cloud.amazon.account import ACCOUNT
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.s3 import operations, presigned_urls, reading, writing
from local_cloud.amazon.s3.body import Chunks, Incoming
from local_cloud.amazon.s3.buckets import HOME, Buckets
from local_cloud.amazon.s3.checksums import MEMBERS
from local_cloud.amazon.s3.contents import Contents, check_version
from local_cloud.amazon.s3.descriptions import SETTINGS
from local_cloud.amazon.s3.errors import Refusal, from_store, precondition_failed, render
from local_cloud.amazon.s3.listing import Listing
from local_cloud.amazon.s3.uploads import Uploads
from local_cloud.disk_errors import say
from local_cloud.http import bodies
from local_cloud.json_types import Json
from local_cloud.store.errors import PreconditionFailed, StoreError
from local_cloud.store.objects import Objects

_log = logging.getLogger(__name__)

# What every operation may be asked with.
_ALWAYS = {"Bucket", "Key", "ExpectedBucketOwner", "RequestPayer", "ContentMD5", "ContentLength"}
_ALWAYS |= {"ChecksumAlgorithm", "EncodingType", *MEMBERS, "VersionId"}
# Values that ask for nothing but what is so anyway.
HARMLESS: dict[str, set[object]] = {
    "ACL": {"private", "bucket-owner-full-control"},
    "BucketKeyEnabled": {False},
    "BypassGovernanceRetention": {True, False},
    "ObjectLockEnabledForBucket": {False},
    "ObjectOwnership": {"BucketOwnerEnforced"},
    "ServerSideEncryption": {"AES256", "aws:kms"},  # the latter is what SageMaker's SDK 2 asks for
}
_PAGE = {"Prefix", "Delimiter", "MaxKeys", "OptionalObjectAttributes"}
_CONDITIONS = {"IfMatch", "IfNoneMatch"}
_TIMES = {"IfModifiedSince", "IfUnmodifiedSince"}
_READ = {*_CONDITIONS, *_TIMES, "Range", "PartNumber", "ChecksumMode"}
_READ |= {
    f"Response{name}"
    for name in (
        "CacheControl",
        "ContentDisposition",
        "ContentEncoding",
        "ContentLanguage",
        "ContentType",
        "Expires",
    )
}
_SOURCE = {"CopySource", "ExpectedSourceBucketOwner"}
_SOURCE |= {f"CopySource{name}" for name in _CONDITIONS | _TIMES}
_PART = {"UploadId", "PartNumber"}


class Call(NamedTuple):
    """How an operation is done, and with which parameters beside the usual ones."""

    function: Callable[[Json], Json | Response]
    takes: set[str]


def calls(objects: Objects) -> dict[str, Call]:
    """Return the calls that there are of S3, by the names of botocore's model."""
    uploads, contents, listing = Uploads(objects), Contents(objects), Listing(objects)
    buckets = Buckets(objects, uploads.forget_all)
    return {
        "ListBuckets": Call(
            buckets.list, {"Prefix", "MaxBuckets", "ContinuationToken", "BucketRegion"}
        ),
        "CreateBucket": Call(buckets.create, {"CreateBucketConfiguration"}),
        "HeadBucket": Call(buckets.head, set()),
        "DeleteBucket": Call(buckets.delete, set()),
        "GetBucketLocation": Call(buckets.location, set()),
        "GetBucketVersioning": Call(buckets.get_versioning, set()),
        "GetBucketTagging": Call(buckets.get_tagging, set()),
        "PutBucketTagging": Call(buckets.tag, {"Tagging"}),
        "DeleteBucketTagging": Call(buckets.untag, set()),
        "ListObjects": Call(listing.first_version, {*_PAGE, "Marker"}),
        "ListObjectsV2": Call(
            listing.second_version, {*_PAGE, "ContinuationToken", "StartAfter", "FetchOwner"}
        ),
        "ListObjectVersions": Call(listing.versions, {*_PAGE, "KeyMarker", "VersionIdMarker"}),
        "PutObject": Call(contents.put, {*SETTINGS, *_CONDITIONS, "Body"}),
        "GetObject": Call(contents.get, _READ),
        "HeadObject": Call(contents.head, _READ),
        "DeleteObject": Call(contents.delete, {"IfMatch"}),
        "DeleteObjects": Call(contents.delete_many, {"Delete"}),
        "CopyObject": Call(
            contents.copy,
            {*SETTINGS, *_SOURCE, *_CONDITIONS, "MetadataDirective", "TaggingDirective"},
        ),
        "GetObjectAttributes": Call(contents.attributes, {"ObjectAttributes"}),
        "GetObjectTagging": Call(contents.get_tagging, set()),
        "PutObjectTagging": Call(contents.tag, {"Tagging"}),
        "DeleteObjectTagging": Call(contents.untag, set()),
        "CreateMultipartUpload": Call(uploads.create, {*SETTINGS, "ChecksumType"}),
        "UploadPart": Call(uploads.part, {*_PART, "Body"}),
        "UploadPartCopy": Call(uploads.part_copy, {*_PART, *_SOURCE, "CopySourceRange"}),
        "CompleteMultipartUpload": Call(
            uploads.complete,
            {"UploadId", "MultipartUpload", *_CONDITIONS, "ChecksumType", "MpuObjectSize"},
        ),
        "AbortMultipartUpload": Call(uploads.abort, {"UploadId"}),
        "ListParts": Call(uploads.parts, {"UploadId", "MaxParts", "PartNumberMarker"}),
        "ListMultipartUploads": Call(
            uploads.under_way, {"Prefix", "Delimiter", "MaxUploads", "KeyMarker", "UploadIdMarker"}
        ),
    }


class S3:
    """What answers requests to S3: of the REST protocols the one with XML."""

    signing_name = "s3"

    def __init__(self, objects: Objects) -> None:
        """objects: its buckets."""
        self.objects = objects
        self.calls = calls(objects)

    def takes(self, method: str, path: str) -> bool:
        """Return True: every path is a bucket's or an object's."""
        return True

    async def answer(self, request: Request, path: str) -> Response:
        """Answer a request; refusals are answers too. path: undecoded, such as "/bucket/a%20b"."""
        chunks = request.stream()
        try:
            response = await _answer(self.objects, self.calls, request, path=path, chunks=chunks)
            response.headers["x-amz-request-id"] = secrets.token_hex(8).upper()
            return response
        except ClientDisconnect:
            return Response(status_code=499)  # nobody is there to read it
        except (ServiceError, StoreError, OSError, sqlite3.OperationalError) as problem:
            # A client that is still sending does not read an answer: take the rest first.
            with suppress(ClientDisconnect):
                async for _ in chunks:
                    pass
            return render(_refusal(problem, path), path)


async def _answer(
    objects: Objects, ours: Mapping[str, Call], request: Request, *, path: str, chunks: Chunks
) -> Response:
    """Return what the operation answers. Raises what it may raise."""
    query = request.query_params
    presigned_urls.check(query)
    # Who signs an address may put headers into it.
    given = {name.lower(): query[name] for name in query if name.lower().startswith("x-amz-")}
    headers = given | dict(request.headers)
    names = _names(path)
    operation = operations.find(request.method, len(names), query, headers=headers, ours=ours)
    if operation is None:
        raise not_implemented(
            f"S3 {request.method} of {('the service', 'a bucket', 'an object')[len(names)]}"
        )
    if operation.name not in ours:
        raise not_implemented(f"S3 {operation.name}")
    call = ours[operation.name]
    params = reading.parameters(operation, query, headers)
    params |= dict(zip(("Bucket", "Key"), names, strict=False))
    _check(operation, call, params)
    if operation.name == "CreateBucket":
        params["Region"] = _region(headers.get("authorization", ""))
    if not operation.has_streaming_input:
        body = await _xml(operation, headers, chunks)
        params |= await bodies.process(body, lambda read: reading.document(operation, read))
        return await run_in_threadpool(_perform, operation, call, params)
    await run_in_threadpool(objects.bucket, params["Bucket"])
    path_of_body = await run_in_threadpool(objects.upload_file)
    try:
        params["Body"] = await Incoming(headers).to_file(chunks, path_of_body, objects.space)
        return await run_in_threadpool(_perform, operation, call, params)
    finally:
        path_of_body.unlink(missing_ok=True)


def _perform(operation: OperationModel, call: Call, params: Json) -> Response:
    try:
        result = call.function(params)
    except PreconditionFailed:  # between the look and the write
        raise precondition_failed(
            "If-None-Match" if "IfNoneMatch" in params else "If-Match"
        ) from None
    return result if isinstance(result, Response) else writing.answer(operation, result)


async def _xml(operation: OperationModel, headers: dict[str, str], chunks: Chunks) -> bytes:
    """Return the body of a call that takes XML, or nothing."""
    if operation.name == "CompleteMultipartUpload":
        # These are of the object to be, and not of this body.
        headers = {name: headers[name] for name in headers if "-checksum-" not in name}
    return await Incoming(headers).whole(chunks)


def _names(path: str) -> list[str]:
    try:
        return [unquote(part, errors="strict") for part in operations.split(path)]
    except UnicodeDecodeError:
        raise Refusal("InvalidURI", "Couldn't parse the specified URI.") from None


def _check(operation: OperationModel, call: Call, params: Json) -> None:
    """Raise ServiceError for what the operation cannot be asked with here, or without."""
    shape = operation.input_shape
    for name in shape.required_members if shape else ():
        where = shape.members[name].serialization
        if name not in params and where.get("location") in ("header", "querystring"):
            raise Refusal("InvalidRequest", f"Missing required parameter: {where['name']}")
    for name in params.keys() - call.takes - _ALWAYS:
        if params[name] not in HARMLESS.get(name, ()):
            raise not_implemented(f"S3 {operation.name} {name}={params[name]}")
    check_version(params.get("VersionId"))
    for name in HARMLESS.keys() & params.keys() & call.takes:
        if params[name] not in HARMLESS[name]:
            raise not_implemented(f"S3 {operation.name} {name}={params[name]}")
    for name in ("ExpectedBucketOwner", "ExpectedSourceBucketOwner"):
        if params.get(name, ACCOUNT) != ACCOUNT:
            raise Refusal("AccessDenied", "Access Denied", 403)


def _region(authorization: str) -> str:
    """Return the region in a signature: the one that the client speaks to."""
    match = re.search(r"Credential=[^/]+/\d{8}/([a-z0-9-]+)/s3/", authorization)
    return match[1] if match else HOME


def _refusal(problem: Exception, path: str) -> ServiceError:
    if isinstance(problem, ServiceError):
        return problem
    if isinstance(problem, StoreError):
        return from_store(problem, unquote((operations.split(path) or [""])[0]))
    _log.error("the disk refuses", exc_info=problem)
    # 507: unlike 500 and 503, the SDKs do not try again for minutes.
    message = say(problem, "free some space and try again")
    return ServiceError("InsufficientStorage", message, 507)
