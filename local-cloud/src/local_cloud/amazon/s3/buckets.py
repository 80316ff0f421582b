"""Buckets: create, list, head, delete, location, tags."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from itertools import islice

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.s3 import tags
from local_cloud.amazon.s3.errors import Refusal, invalid
from local_cloud.json_types import Json
from local_cloud.store.errors import BucketExists
from local_cloud.store.objects import Objects
from local_cloud.store.values import Attributes, Bucket

HOME = "us-east-1"
OWNER = {"ID": "0" * 64}  # the canonical id of the account

_NAME = re.compile(r"(?=.{3,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_TAKEN = re.compile(r"(xn--|sthree-|amzn-s3-demo-).*|.*(-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)")
_MOST_TAGS = 50
_MOST_BUCKETS = 10_000


def check_name(name: str) -> str:
    """Return the name itself; Refusal for one that breaks the service's rules.

    docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
    """
    if not _NAME.fullmatch(name) or _TAKEN.fullmatch(name) or _is_address(name):
        raise Refusal("InvalidBucketName", "The specified bucket is not valid.", BucketName=name)
    return name


class Buckets:
    """The operations on buckets."""

    def __init__(self, objects: Objects, forget_uploads: Callable[[str], None]) -> None:
        """forget_uploads: removes what is under way into a bucket that is no more."""
        self._objects, self._forget_uploads = objects, forget_uploads

    def create(self, params: Json) -> Json:
        """CreateBucket; in us-east-1 one may create one's own bucket again."""
        name = check_name(params["Bucket"])
        settings = params.get("CreateBucketConfiguration", {})
        for part in settings.keys() - {"LocationConstraint", "Tags"}:
            raise not_implemented(f"S3 CreateBucket {part}")
        region = _region(params["Region"], settings.get("LocationConstraint"))
        given = tags.of_set({"TagSet": settings.get("Tags", [])}, _MOST_TAGS)
        try:
            self._objects.create_bucket(name, {"region": region, "tags": given})
        except BucketExists:
            if region != HOME or self._region(name) != HOME:
                message = "Your previous request to create the named bucket succeeded and you"
                raise Refusal(
                    "BucketAlreadyOwnedByYou", f"{message} already own it.", 409, BucketName=name
                ) from None
        return {"Location": f"/{name}"}

    def list(self, params: Json) -> Json:
        """ListBuckets"""
        prefix, after = params.get("Prefix", ""), _last(params.get("ContinuationToken", ""))
        region = params.get("BucketRegion")
        buckets = (
            bucket
            for bucket in self._objects.buckets(prefix)
            if bucket.name > after and region in (None, _region_of(bucket))
        )
        most = params.get("MaxBuckets", _MOST_BUCKETS)
        if not 1 <= most <= _MOST_BUCKETS:
            raise invalid(f"max-buckets must be between 1 and {_MOST_BUCKETS}")
        page = list(islice(buckets, most + 1))
        result: Json = {"Buckets": [_describe(bucket) for bucket in page[:most]], "Owner": OWNER}
        if len(page) > most:
            result["ContinuationToken"] = base64.b64encode(page[most - 1].name.encode()).decode()
        if prefix:
            result["Prefix"] = prefix
        return result

    def head(self, params: Json) -> Json:
        """HeadBucket"""
        return {"BucketRegion": self._region(params["Bucket"])}

    def location(self, params: Json) -> Json:
        """GetBucketLocation; the first region has no name there."""
        region = self._region(params["Bucket"])
        return {"LocationConstraint": "" if region == HOME else region}

    def delete(self, params: Json) -> Json:
        """DeleteBucket"""
        self._objects.delete_bucket(params["Bucket"])
        self._forget_uploads(params["Bucket"])
        return {}

    def get_versioning(self, params: Json) -> Json:
        """GetBucketVersioning: of a bucket that never had it."""
        self._objects.bucket(params["Bucket"])
        return {}

    def get_tagging(self, params: Json) -> Json:
        """GetBucketTagging"""
        tag_set = self._objects.bucket(params["Bucket"]).attributes.get("tags")
        if not tag_set:
            name = params["Bucket"]
            raise Refusal("NoSuchTagSet", "The TagSet does not exist", 404, BucketName=name)
        return tags.to_set(tag_set)

    def tag(self, params: Json) -> Json:
        """PutBucketTagging"""
        return self._tag(params["Bucket"], tags.of_set(params["Tagging"], _MOST_TAGS))

    def untag(self, params: Json) -> Json:
        """DeleteBucketTagging"""
        return self._tag(params["Bucket"], {})

    def _tag(self, name: str, given: tags.Tags) -> Json:
        def change(old: Bucket) -> Attributes:
            return old.attributes | {"tags": given}

        self._objects.update_bucket(name, change)
        return {}

    def _region(self, name: str) -> str:
        return _region_of(self._objects.bucket(name))


def _region_of(bucket: Bucket) -> str:
    return str(bucket.attributes.get("region", HOME))


def _describe(bucket: Bucket) -> Json:
    return {
        "Name": bucket.name,
        "CreationDate": bucket.created,
        "BucketRegion": _region_of(bucket),
    }


def _region(signed_for: str, wanted: str | None) -> str:
    """Return where a bucket is to be, by the region that the client speaks to and the one it names.

    us-east-1 makes buckets anywhere, and is itself not named; the others make their own only.
    """
    if wanted == HOME == signed_for:
        message = "The specified location-constraint is not valid"
        raise Refusal("InvalidLocationConstraint", message, LocationConstraint=wanted)
    if signed_for != HOME and wanted != signed_for:
        message = f"The {wanted or 'unspecified'} location constraint is incompatible for the"
        message += " region specific endpoint this request was sent to."
        raise Refusal("IllegalLocationConstraintException", message)
    return wanted or HOME


def _last(token: str) -> str:
    try:
        return base64.b64decode(token, validate=True).decode()
    except (binascii.Error, ValueError):
        raise invalid("The continuation token provided is incorrect") from None


def _is_address(name: str) -> bool:
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        return False
    return True
