"""Conditions of reads (RFC 9110, 13) and of writes."""

from __future__ import annotations

from local_cloud.amazon.s3.descriptions import etag
from local_cloud.amazon.s3.errors import Refusal, no_such_key, precondition_failed
from local_cloud.json_types import Json
from local_cloud.store.errors import NoSuchObject
from local_cloud.store.objects import Objects
from local_cloud.store.values import ALWAYS, Condition, Object


def check_read(params: Json, stored: Object) -> None:
    """Raise Refusal unless the object may be read: 412, or 304 if the client has it already."""
    match = _holds(params.get("IfMatch"), stored)
    if match is False:
        raise precondition_failed("If-Match")
    modified = int(stored.created)
    since = params.get("IfUnmodifiedSince")
    if match is None and since is not None and modified > since:
        raise precondition_failed("If-Unmodified-Since")
    known = _holds(params.get("IfNoneMatch"), stored)
    since = params.get("IfModifiedSince")
    if known or (known is None and since is not None and modified <= since):
        unchanged = Refusal("NotModified", "Not Modified", 304)
        unchanged.headers = {"etag": etag(stored)}
        raise unchanged


def check_source(params: Json, stored: Object) -> None:
    """Raise Refusal unless the source of a copy may be read; everything is a 412 there."""
    prefix = "CopySource"
    given = {name.removeprefix(prefix): params[name] for name in params if name.startswith(prefix)}
    try:
        check_read(given, stored)
    except Refusal as refusal:
        if refusal.status == 304:
            raise precondition_failed("x-amz-copy-source-If-None-Match") from None
        raise


def of_write(objects: Objects, params: Json) -> Condition:
    """Return what must hold when the object is written. Raises Refusal if it does not hold now."""
    bucket, key = params["Bucket"], params["Key"]
    if "IfNoneMatch" in params:
        if params["IfNoneMatch"] != "*":
            raise Refusal(
                "NotImplemented",
                "A header you provided implies functionality that is "
                "not implemented: If-None-Match of a write takes * only",
                501,
            )
        return Condition(generation=0)
    if "IfMatch" not in params:
        return ALWAYS
    try:
        stored = objects.get(bucket, key)
    except NoSuchObject:
        raise no_such_key(key) from None
    if not _holds(params["IfMatch"], stored):
        raise precondition_failed("If-Match")
    return Condition(generation=stored.generation)


def _holds(header: str | None, stored: Object) -> bool | None:
    """Return whether the object's ETag is among these; None: there is no such header."""
    if header is None:
        return None
    tags = [each.strip().removeprefix("W/").strip('"') for each in header.split(",")]
    return header.strip() == "*" or etag(stored).strip('"') in tags
