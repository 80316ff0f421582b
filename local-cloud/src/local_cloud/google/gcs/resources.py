"""Buckets and objects as the service renders them, and what of it a client may set."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from local_cloud.google.gcs.errors import invalid, not_implemented
from local_cloud.google.projects import project_number
from local_cloud.google.rest import inner
from local_cloud.json_types import Json
from local_cloud.store.values import Attributes, Bucket, Object

# What is kept of an object's resource and sent back (and, of most, in a download's headers).
HEADERS = {
    "contentEncoding": "content-encoding",
    "contentDisposition": "content-disposition",
    "contentLanguage": "content-language",
    "cacheControl": "cache-control",
}
_OBJECT = {*HEADERS, "metadata", "customTime", "storageClass", "contexts"}
# Marks an object that was uploaded in parts; no request sets it, and no resource shows it.
IN_PARTS = "uploadedInParts"
_OBJECT_REFUSED = {"acl", "eventBasedHold", "temporaryHold", "retention"}

# What is kept of a bucket's resource. None of it changes what the local cloud does.
_BUCKET = {
    "location",
    "storageClass",
    "labels",
    "lifecycle",
    "cors",
    "website",
    "logging",
    "billing",
    "iamConfiguration",
    "autoclass",
    "rpo",
    "softDeletePolicy",
    "versioning",
}
_BUCKET_REFUSED = {
    "acl",
    "defaultObjectAcl",
    "encryption",
    "retentionPolicy",
    "defaultEventBasedHold",
    "hierarchicalNamespace",
    "customPlacementConfig",
    "ipFilter",
    "objectRetention",
}
_MULTI = {"US", "EU", "ASIA"}
_DUAL = {"NAM4", "EUR4", "EUR5", "EUR7", "EUR8", "ASIA1"}


def bucket_settings(body: Json) -> Attributes:
    """Return what a client sets of a bucket.

    Raises Refusal for what the local cloud cannot promise.
    """
    for name in _BUCKET_REFUSED:
        if _is_set(body.get(name)):
            raise not_implemented(f"a bucket's {name}")
    if inner(body, "versioning").get("enabled"):
        raise not_implemented("a bucket's versioning")
    settings = {name: value for name, value in body.items() if name in _BUCKET}
    for name in {"location", "storageClass"} & settings.keys():
        settings[name] = header(name, settings[name] or "").upper() or None
    return settings


def object_settings(body: Json) -> Attributes:
    """Return what a client sets of an object, but for contentType; None: to be removed."""
    for name in _OBJECT_REFUSED & body.keys():
        if name == "acl" or _is_set(body[name]):
            raise not_implemented(f"an object's {name}")
    settings = {name: value for name, value in body.items() if name in _OBJECT}
    for name in {*HEADERS, "customTime", "storageClass"} & settings.keys():
        header(name, settings[name] or "")
    if not all(isinstance(value, str | None) for value in inner(settings, "metadata").values()):
        raise invalid("Invalid value for metadata: texts are needed")
    return settings


def header(name: str, value: object) -> str:
    """Return a value that will be sent in a header. Raises Refusal for one that cannot be."""
    if not isinstance(value, str) or not value.isprintable():
        raise invalid(f"Invalid value for {name}: {value!r}")
    return value


def merge(old: Json, patch: Json) -> Json:
    """Merge as JSON merge patch (RFC 7396) does: null removes a key, objects are merged."""
    new = dict(old)
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        elif isinstance(value, dict):
            inner = new.get(name)
            new[name] = merge(inner if isinstance(inner, dict) else {}, value)
        else:
            new[name] = value
    return new


def bucket_resource(bucket: Bucket, base: str) -> Json:
    """Return a bucket as the service shows it; base: the address up to and without /storage."""
    settings = bucket.attributes.get("settings", {})
    location = settings.get("location") or "US"
    kind = "multi-region" if location in _MULTI else "dual-region" if location in _DUAL else ""
    uniform = {"enabled": False}
    return {
        "kind": "storage#bucket",
        "storageClass": "STANDARD",
        "rpo": "DEFAULT",
        "iamConfiguration": {
            "bucketPolicyOnly": uniform,
            "uniformBucketLevelAccess": uniform,
            "publicAccessPrevention": "inherited",
        },
        **settings,
        "id": bucket.name,
        "name": bucket.name,
        "selfLink": f"{base}/storage/v1/b/{bucket.name}",
        "projectNumber": project_number(bucket.attributes.get("project", "")),
        "location": location,
        "locationType": kind or "region",
        "generation": str(int(bucket.created * 1e6)),
        "metageneration": str(bucket.metageneration),
        "etag": bucket_etag(bucket),
        "timeCreated": shown_time(bucket.created),
        "updated": shown_time(bucket.updated),
    }


def bucket_etag(bucket: Bucket) -> str:
    """Return the bucket's etag: it changes with each metageneration, and is its policy's too."""
    return base64_of(bucket.metageneration.to_bytes(4, "big"))


def object_resource(stored: Object, base: str) -> Json:
    """Return an object as the service shows it; base: the address up to and without /storage."""
    path = f"/storage/v1/b/{stored.bucket}/o/{quote(stored.name, safe='')}"
    resource = {
        "kind": "storage#object",
        "storageClass": "STANDARD",
        **{name: value for name, value in stored.attributes.items() if name != IN_PARTS},
        "id": f"{stored.bucket}/{stored.name}/{stored.generation}",
        "selfLink": f"{base}{path}",
        "mediaLink": f"{base}/download{path}?generation={stored.generation}&alt=media",
        "name": stored.name,
        "bucket": stored.bucket,
        "generation": str(stored.generation),
        "metageneration": str(stored.metageneration),
        "contentType": stored.content_type,
        "size": str(stored.size),
        "crc32c": base64_of(stored.crc32c),
        "etag": etag(stored),
        "timeCreated": shown_time(stored.created),
        "updated": shown_time(stored.updated),
        "timeStorageClassUpdated": shown_time(stored.created),
        "timeFinalized": shown_time(stored.created),
    }
    if has_md5(stored):
        resource["md5Hash"] = base64_of(stored.md5)
    return resource


def has_md5(stored: Object) -> bool:
    """Return whether the service has an MD5 of it: not of what was put together."""
    return not {"componentCount", IN_PARTS} & stored.attributes.keys()


def media_headers(stored: Object) -> dict[str, str]:
    """Return the headers of a download."""
    hashes = f"crc32c={base64_of(stored.crc32c)}"
    if has_md5(stored):
        hashes += f",md5={base64_of(stored.md5)}"
    kept = {HEADERS[name]: value for name, value in stored.attributes.items() if name in HEADERS}
    modified = datetime.fromtimestamp(stored.updated, UTC)
    headers = {
        "content-type": stored.content_type,
        "etag": etag(stored),
        "last-modified": modified.strftime("%a, %d %b %Y %H:%M:%S GMT"),
        "accept-ranges": "bytes",
        "x-goog-hash": hashes,
        "x-goog-generation": str(stored.generation),
        "x-goog-metageneration": str(stored.metageneration),
        "x-goog-storage-class": stored.attributes.get("storageClass", "STANDARD"),
        "x-goog-stored-content-length": str(stored.size),
        "x-goog-stored-content-encoding": stored.attributes.get("contentEncoding", "identity"),
    }
    # Header values travel as Latin-1; the service puts UTF-8 in them.
    return {
        name: text.strip().encode().decode("latin-1") for name, text in (headers | kept).items()
    }


def etag(stored: Object) -> str:
    """Return the object's etag, which changes with each generation and metageneration."""
    return base64_of(
        stored.generation.to_bytes(8, "big") + stored.metageneration.to_bytes(4, "big")
    )


def base64_of(content: bytes) -> str:
    """Return bytes as headers and resources have them."""
    return base64.b64encode(content).decode()


def shown_time(seconds: float) -> str:
    """Return a time as the service shows it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _is_set(value: Any) -> bool:
    return value not in (None, False, [], {}) and value != {"enabled": False}
