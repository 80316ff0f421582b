"""Refusals in the service's own words and shape.

Codes, reasons and most sentences: cloud.google.com/storage/docs/json_api/v1/status-codes.
"""

from __future__ import annotations

from local_cloud.errors import shorten
from local_cloud.google.rest import GoogleError
from local_cloud.store import errors as store


class Refusal(GoogleError):
    """An answer other than success."""

    def __init__(self, code: int, reason: str, message: str, **more: str) -> None:
        """code: of HTTP; reason: the service's word; more: further keys of the error's entry."""
        message = shorten(message)
        entry = {"message": message, "domain": "global", "reason": reason} | more
        super().__init__(code, message, errors=[entry])


def invalid(message: str, **more: str) -> Refusal:
    """Return the refusal of a request that makes no sense."""
    return Refusal(400, "invalid", message, **more)


def not_implemented(what: str) -> Refusal:
    """Return the refusal of what the service can do and the local cloud cannot."""
    return Refusal(501, "notImplemented", f"not implemented in the local cloud: {what}")


def no_such_object(bucket: str, name: str) -> Refusal:
    """Return the refusal of an object that does not exist (or not in this generation)."""
    return Refusal(404, "notFound", f"No such object: {bucket}/{name}")


def from_store(error: store.StoreError, *, is_read: bool = False) -> Refusal:
    """Return what the service says where the store says this."""
    match error:
        case store.NoSuchBucket():
            return Refusal(404, "notFound", "The specified bucket does not exist.")
        case store.NoSuchObject(bucket=bucket, name=name):
            return no_such_object(bucket, name)
        case store.BucketExists():
            message = "Your previous request to create the named bucket succeeded and you already"
            return Refusal(409, "conflict", f"{message} own it.")
        case store.BucketNotEmpty():
            return Refusal(409, "conflict", "The bucket you tried to delete is not empty.")
        case store.Unsteady():
            return Refusal(503, "backendError", str(error))  # clients try again
        case store.NoSpace():
            return Refusal(507, "quotaExceeded", str(error))  # with 429, clients would try again
        case store.PreconditionFailed(excluded=True) if is_read:
            return Refusal(304, "notModified", "Not Modified")
        case store.PreconditionFailed():
            message = "At least one of the pre-conditions you specified did not hold."
            where = {"locationType": "header", "location": "If-Match"}
            return Refusal(412, "conditionNotMet", message, **where)
        case _:
            return invalid(str(error))
