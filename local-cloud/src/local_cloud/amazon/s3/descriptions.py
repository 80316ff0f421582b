"""What S3 says of an object, and which of it a client sets."""

from __future__ import annotations

from local_cloud.amazon.s3 import tags
from local_cloud.amazon.s3.checksums import MEMBERS
from local_cloud.amazon.s3.errors import Refusal, invalid
from local_cloud.json_types import Json
from local_cloud.store.values import Attributes, Object

DEFAULT_TYPE = "binary/octet-stream"
_LARGEST_METADATA = 2048  # bytes; docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html
_CLASSES = {
    "STANDARD",
    "REDUCED_REDUNDANCY",
    "STANDARD_IA",
    "ONEZONE_IA",
    "INTELLIGENT_TIERING",
    "GLACIER",
    "DEEP_ARCHIVE",
    "GLACIER_IR",
}
# What is kept under the parameter's own name, and sent back.
HEADERS = {
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "Expires",
    "WebsiteRedirectLocation",
}
SETTINGS = {*HEADERS, "ContentType", "Metadata", "StorageClass", "Tagging", "ServerSideEncryption"}


def settings(params: Json) -> tuple[str, Attributes]:
    """Return content type and attributes that a request gives an object. Raises Refusal."""
    kept = {name: params[name] for name in HEADERS & params.keys()}
    coded = [part.strip() for part in kept.pop("ContentEncoding", "").split(",")]
    if coding := ",".join(part for part in coded if part not in ("", "aws-chunked")):
        kept["ContentEncoding"] = coding
    metadata = params.get("Metadata", {})
    size = sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items())
    if size > _LARGEST_METADATA:
        message = "Your metadata headers exceed the maximum allowed metadata size"
        raise Refusal("MetadataTooLarge", message, Size=size, MaxSizeAllowed=_LARGEST_METADATA)
    return params.get("ContentType") or DEFAULT_TYPE, {
        **kept,
        "Metadata": metadata,
        **of_request(params),
        "Tags": tags.of_header(params.get("Tagging", "")),
    }


def of_request(params: Json) -> Attributes:
    """Return the attributes that a copy never takes from its source. Raises Refusal."""
    storage = params.get("StorageClass", "STANDARD")
    if storage not in _CLASSES:
        message = "The storage class you specified is not valid"
        raise Refusal("InvalidStorageClass", message, StorageClassRequested=storage)
    attributes = {"StorageClass": storage}
    if "ServerSideEncryption" in params:
        attributes["ServerSideEncryption"] = params["ServerSideEncryption"]
    return attributes


def etag(stored: Object) -> str:
    """Return the ETag in its quotes: the MD5, or what an upload in parts left in its place."""
    return f'"{stored.attributes.get("ETag") or stored.md5.hex()}"'


def entry(stored: Object) -> Json:
    """Return the object as a list has it."""
    algorithm = [name.removeprefix("Checksum") for name in MEMBERS & stored.attributes.keys()]
    return {
        "Key": stored.name,
        "LastModified": stored.created,
        "ETag": etag(stored),
        "Size": stored.size,
        "StorageClass": storage_class(stored) or "STANDARD",
        **({"ChecksumAlgorithm": algorithm} if algorithm else {}),
        **({"ChecksumType": stored.attributes["ChecksumType"]} if algorithm else {}),
    }


def headers(stored: Object) -> Json:
    """Return the headers of HeadObject and GetObject, but for the length and the checksums."""
    kept = stored.attributes
    return {
        **{name: kept[name] for name in HEADERS & kept.keys()},
        "AcceptRanges": "bytes",
        "ContentType": stored.content_type,
        "ETag": etag(stored),
        "LastModified": stored.created,
        "Metadata": kept.get("Metadata", {}),
        "ServerSideEncryption": kept.get("ServerSideEncryption"),
        "StorageClass": storage_class(stored),
        "TagCount": len(kept.get("Tags", {})) or None,
    }


def storage_class(stored: Object) -> str | None:
    """Return the storage class; None for the usual one, which S3 leaves out of headers."""
    kept = stored.attributes.get("StorageClass", "STANDARD")
    return None if kept == "STANDARD" else kept


def checksums(kept: Attributes) -> Json:
    """Return the checksum and its type, if there is one."""
    return {name: kept[name] for name in {*MEMBERS, "ChecksumType"} & kept.keys()}


def check_key(name: str) -> str:
    """Return the name itself. Raises Refusal for one that the service refuses."""
    size = len(name.encode())
    if size > 1024:
        raise Refusal("KeyTooLongError", "Your key is too long", Size=size, MaxSizeAllowed=1024)
    if not name:
        raise invalid("Missing required argument Key")
    return name
