"""Lists of objects: both versions, and of versions, of which each object has one."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from urllib.parse import quote

from local_cloud.amazon.s3.buckets import OWNER
from local_cloud.amazon.s3.descriptions import entry
from local_cloud.amazon.s3.errors import invalid
from local_cloud.json_types import Json
from local_cloud.store.objects import Objects
from local_cloud.store.values import Object

_LARGEST = 1000  # docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html, MaxKeys


@dataclass(frozen=True)
class Page:
    """A part of a list; last: what the next page follows, "" if this is the last one."""

    objects: list[Object]
    prefixes: list[str]
    last: str


class Listing:
    """The operations that list a bucket."""

    def __init__(self, objects: Objects) -> None:
        """Serve the objects of this store."""
        self._objects = objects

    def first_version(self, params: Json) -> Json:
        """ListObjects"""
        page = self._page(params, params.get("Marker", ""))
        result = self._result(params, page) | {"Marker": params.get("Marker", "")}
        if page.last and params.get("Delimiter"):
            result["NextMarker"] = page.last
        result["Contents"] = [entry(each) | {"Owner": OWNER} for each in page.objects]
        return _in_encoding(params, result)

    def second_version(self, params: Json) -> Json:
        """ListObjectsV2"""
        token = params.get("ContinuationToken")
        page = self._page(params, params.get("StartAfter", "") if token is None else _last(token))
        result = self._result(params, page)
        result["KeyCount"] = len(page.objects) + len(page.prefixes)
        begins = "StartAfter" if token is None else "ContinuationToken"
        result[begins] = params.get(begins)
        if page.last:
            result["NextContinuationToken"] = base64.b64encode(page.last.encode()).decode()
        owner = {"Owner": OWNER} if params.get("FetchOwner") else {}
        result["Contents"] = [entry(each) | owner for each in page.objects]
        return _in_encoding(params, result)

    def versions(self, params: Json) -> Json:
        """ListObjectVersions: there is no other version than the present one."""
        page = self._page(params, params.get("KeyMarker", ""))
        result = self._result(params, page) | {
            "KeyMarker": params.get("KeyMarker", ""),
            "VersionIdMarker": params.get("VersionIdMarker", ""),
        }
        if page.last:
            result |= {"NextKeyMarker": page.last, "NextVersionIdMarker": "null"}
        mark = {"VersionId": "null", "IsLatest": True, "Owner": OWNER}
        result["Versions"] = [entry(each) | mark for each in page.objects]
        return _in_encoding(params, result)

    def _page(self, params: Json, after: str) -> Page:
        prefix, delimiter = params.get("Prefix", ""), params.get("Delimiter", "")
        results = self._objects.names(params["Bucket"], prefix, after=after, delimiter=delimiter)
        names: list[str] = []
        prefixes: list[str] = []
        size, last = page_size(params, "MaxKeys", "max-keys"), ""
        is_cut = False
        for name in results if size else ():
            if len(names) + len(prefixes) == size:
                is_cut = True
                break
            is_prefix = delimiter and delimiter in name[len(prefix) :]
            (prefixes if is_prefix else names).append(name)
            last = name
        objects = list(self._objects.select(params["Bucket"], names))
        return Page(objects, prefixes, last if is_cut else "")

    def _result(self, params: Json, page: Page) -> Json:
        """Return what all the lists have in common."""
        result = {
            "Name": params["Bucket"],
            "Prefix": params.get("Prefix", ""),
            "Delimiter": params.get("Delimiter") or None,
            "MaxKeys": page_size(params, "MaxKeys", "max-keys"),
            "EncodingType": params.get("EncodingType"),
            "IsTruncated": bool(page.last),
            "CommonPrefixes": [{"Prefix": prefix} for prefix in page.prefixes],
        }
        return result


def page_size(params: Json, name: str, argument: str) -> int:
    """Return how many results to give at most."""
    return min(whole(params, name, argument, default=_LARGEST), _LARGEST)


def whole(params: Json, name: str, argument: str, *, default: int) -> int:
    """Return a parameter that is a whole number of 31 bits; argument: its name in the address."""
    requested: int = params.get(name, default)
    named = {"ArgumentName": argument, "ArgumentValue": requested}
    if requested < 0:
        raise invalid(f"Argument {argument} must be an integer between 0 and 2147483647", **named)
    if requested >= 1 << 31:
        raise invalid(f"Provided {argument} not an integer or within integer range", **named)
    return requested


_TEXTS = {
    "Prefix",
    "Delimiter",
    "Marker",
    "NextMarker",
    "StartAfter",
    "Key",
    "KeyMarker",
    "NextKeyMarker",
}


def _in_encoding(params: Json, result: Json) -> Json:
    """Return the result with its names as an address has them, if this was asked for."""
    requested = params.get("EncodingType")
    if requested is None:
        return result
    if requested != "url":
        raise invalid("Invalid Encoding Method specified in Request", ArgumentName="encoding-type")
    return url_encoded(result)


def url_encoded(result: Json) -> Json:
    """Return the result with each name quoted."""
    encoded: Json = {}
    for name, value in result.items():
        if isinstance(value, list):
            encoded[name] = [
                url_encoded(item) if isinstance(item, dict) else item for item in value
            ]
        else:
            encoded[name] = quote(value) if name in _TEXTS and value else value
    return encoded


def _last(token: str) -> str:
    """Return the result that a page follows."""
    try:
        last = base64.b64decode(token, validate=True).decode()
    except (binascii.Error, ValueError):
        last = ""
    if not last:
        raise invalid("The continuation token provided is incorrect")
    return last
