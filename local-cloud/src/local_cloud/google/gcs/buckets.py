"""Buckets: insert, get, list, patch, update, delete."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from starlette.responses import JSONResponse, Response

from local_cloud.google.gcs.call import Call
from local_cloud.google.gcs.errors import Refusal, invalid
from local_cloud.google.gcs.pages import last_before, page_size
from local_cloud.google.gcs.resources import bucket_resource, bucket_settings, merge
from local_cloud.google.projects import project_number
from local_cloud.google.rest import page_token
from local_cloud.store.objects import Objects
from local_cloud.store.values import Attributes, Bucket

_COMPONENT = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?")


def check_name(name: object) -> str:
    """Return the name itself.

    Raise Refusal for one that breaks cloud.google.com/storage/docs/buckets#naming.

    Names with dots are taken without the proof that the domain is one's own.
    """
    parts = name.split(".") if isinstance(name, str) else [""]
    if (
        not isinstance(name, str)
        or not 3 <= len(name) <= 222
        or (len(parts) == 1 and len(name) > 63)
        or not all(_COMPONENT.fullmatch(part) for part in parts)
        or _is_address(name)
        or name.startswith("goog")
        or "google" in name
        or "g00gle" in name
    ):
        raise invalid(f"Invalid bucket name: '{name}'")
    return name


class Buckets:
    """Handlers of the bucket resource."""

    def __init__(self, objects: Objects) -> None:
        """Serve the buckets of this store."""
        self._objects = objects

    def insert(self, call: Call) -> Response:
        """POST /b?project=…"""
        project = _project(call)
        if "name" not in call.body:
            raise Refusal(400, "required", "Required")
        name = check_name(call.body["name"])
        settings = merge({}, bucket_settings(call.body))
        made = self._objects.create_bucket(name, {"project": project, "settings": settings})
        return self._answer(call, made)

    def list(self, call: Call) -> Response:
        """GET /b?project=…"""
        number, after = project_number(_project(call)), last_before(call)
        named = [
            bucket_resource(bucket, call.base)
            for bucket in self._objects.buckets(call.query.get("prefix", ""))
            if project_number(bucket.attributes.get("project", "")) == number
            and bucket.name > after
        ]
        size = page_size(call)
        answer = {"kind": "storage#buckets", "items": named[:size]}
        if len(named) > size:
            answer["nextPageToken"] = page_token(named[size - 1]["name"])
        return JSONResponse(answer)

    def get(self, call: Call) -> Response:
        """GET /b/{bucket}"""
        stored = self._objects.bucket(call.path("bucket"))
        call.condition().check(1, stored.metageneration)
        return self._answer(call, stored)

    def layout(self, call: Call) -> Response:
        """GET /b/{bucket}/storageLayout: gcloud asks whether folders are things of their own."""
        resource = bucket_resource(self._objects.bucket(call.path("bucket")), call.base)
        return JSONResponse(
            {
                "kind": "storage#storageLayout",
                "bucket": resource["name"],
                "location": resource["location"],
                "locationType": resource["locationType"],
                "hierarchicalNamespace": {"enabled": False},
            }
        )

    def list_managed_folders(self, call: Call) -> Response:
        """GET /b/{bucket}/managedFolders: none, for nothing here makes one."""
        self._objects.bucket(call.path("bucket"))
        return JSONResponse({"kind": "storage#managedFolders", "items": []})

    def patch(self, call: Call) -> Response:
        """PATCH /b/{bucket}: set what is given, remove what is null."""
        return self._change(call, lambda old: merge(old, bucket_settings(call.body)))

    def update(self, call: Call) -> Response:
        """PUT /b/{bucket}: set all."""
        return self._change(call, lambda old: merge({}, bucket_settings(call.body)))

    def delete(self, call: Call) -> Response:
        """DELETE /b/{bucket}"""
        self._objects.delete_bucket(call.path("bucket"), call.condition())
        return Response(status_code=204)

    def _change(self, call: Call, change: Callable[[Attributes], Attributes]) -> Response:
        def attributes(old: Bucket) -> Attributes:
            before = old.attributes.get("settings", {})
            fixed = {"location": before["location"]} if "location" in before else {}
            return old.attributes | {"settings": change(before) | fixed}

        changed = self._objects.update_bucket(call.path("bucket"), attributes, call.condition())
        return self._answer(call, changed)

    def _answer(self, call: Call, bucket: Bucket) -> Response:
        return JSONResponse(bucket_resource(bucket, call.base))


def _project(call: Call) -> str:
    project = call.query.get("project", "")
    if not project:
        raise Refusal(400, "required", "Required parameter: project")
    return project


def _is_address(name: str) -> bool:
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        return False
    return True
