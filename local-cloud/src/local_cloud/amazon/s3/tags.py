"""Tags of buckets and objects: what S3 lets them be."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from local_cloud.amazon.s3.errors import Refusal, invalid
from local_cloud.json_types import Json

Tags = dict[str, str]

_ALLOWED = re.compile(r"[\w\s+\-=._:/@]*")


def of_set(tagging: Json, most: int) -> Tags:
    """Return the tags in a TagSet. Raises Refusal."""
    pairs = [(tag["Key"], tag["Value"]) for tag in tagging["TagSet"]]
    return _check(pairs, most, "System tags cannot be added/updated by requester")


def of_header(text: str) -> Tags:
    """Return the tags of an object in the form of an address's parameters."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict")
    except ValueError:
        message = "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query"
        raise invalid(message + " parameters without tag name duplicates.") from None
    return _check(pairs, 10, "Your TagKey cannot be prefixed with aws:")


def to_set(tags: Tags) -> Json:
    """Return tags as a result has them."""
    return {"TagSet": [{"Key": key, "Value": value} for key, value in tags.items()]}


def _check(pairs: list[tuple[str, str]], most: int, reserved: str) -> Tags:
    if len(pairs) > most:
        what = "Object" if most == 10 else "Bucket"
        raise Refusal("BadRequest", f"{what} tags cannot be greater than {most}")
    tags = dict(pairs)
    if len(tags) < len(pairs):
        raise _wrong("Cannot provide multiple Tags with the same key")
    for key, value in pairs:
        if not 1 <= len(key) <= 128 or not _ALLOWED.fullmatch(key):
            raise _wrong("The TagKey you have provided is invalid")
        if len(value) > 256 or not _ALLOWED.fullmatch(value):
            raise _wrong("The TagValue you have provided is invalid")
        if key.lower().startswith("aws:"):
            raise _wrong(reserved)
    return tags


def _wrong(message: str) -> Refusal:
    return Refusal("InvalidTag", message)
