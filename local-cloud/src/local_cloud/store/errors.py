"""What can go wrong with records and objects, in no cloud's words; the dialects translate."""

from __future__ import annotations

from local_cloud.errors import LocalCloudError


class StoreError(LocalCloudError):
    """Any refusal of the store; the message says what and where."""


class DamagedStore(StoreError):
    """A file of the store is not what the store has written."""


class NoSuchBucket(StoreError):
    """There is no bucket of this name."""


class BucketExists(StoreError):
    """There is a bucket of this name already."""


class BucketNotEmpty(StoreError):
    """The bucket still holds objects."""


class NoSuchObject(StoreError):
    """There is no object of this name in the bucket."""

    def __init__(self, bucket: str, name: str) -> None:
        """Make the message of both."""
        super().__init__(f"there is no object {name!r} in bucket {bucket}")
        self.bucket, self.name = bucket, name


class BadName(StoreError):
    """No bucket or object can have this name."""


class Unsteady(StoreError):
    """A job rewrites the object's file faster than it can be read."""


class NoSpace(StoreError):
    """There is no room for what is to be written."""


class DigestMismatch(StoreError):
    """The bytes received are not the bytes that were announced."""


class PreconditionFailed(StoreError):
    """The object or bucket is not in the state that the caller asked for."""

    def __init__(self, message: str, *, excluded: bool = False) -> None:
        """excluded: the state is the very one that the caller has and does not want again."""
        super().__init__(message)
        self.excluded = excluded
