"""The addresses of the JSON API (cloud.google.com/storage/docs/json_api/v1) and who serves them."""

from __future__ import annotations

import re

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from local_cloud.google.gcs import parts
from local_cloud.google.gcs.batches import Batches
from local_cloud.google.gcs.buckets import Buckets
from local_cloud.google.gcs.call import API, Call, stream_to
from local_cloud.google.gcs.contents import Contents
from local_cloud.google.gcs.errors import not_implemented
from local_cloud.google.gcs.policies import Policies, service_account
from local_cloud.google.gcs.uploads import Chunks, Uploads
from local_cloud.google.rest import VERBS, describe
from local_cloud.store.objects import Objects

_BUCKETS = "/storage/v1/b"
_BUCKET = _BUCKETS + "/{bucket}"
_OBJECTS = _BUCKET + "/o"
_OBJECT = _OBJECTS + "/{object}"
_TARGET = "b/{to_bucket}/o/{to_object}"
_PARTS = {
    "b": "bucket",
    "o": "object",
    "projects": "project",
    "acl": "entity",
    "defaultObjectAcl": "entity",
    "notificationConfigs": "notification",
    "hmacKeys": "accessId",
    "folders": "folder",
    "managedFolders": "managedFolder",
    "anywhereCaches": "anywhereCache",
}


def routes(objects: Objects) -> list[BaseRoute]:
    """Return the routes of all of Cloud Storage; what it has not is answered with 501.

    The path that the routes see must be undecoded: an object's name is one segment of it.
    """
    buckets, contents, uploads = Buckets(objects), Contents(objects), Uploads(objects)
    policies = Policies(objects)
    calls = [
        ("POST", _BUCKETS, buckets.insert),
        ("GET", _BUCKETS, buckets.list),
        ("GET", _BUCKET, buckets.get),
        ("PATCH", _BUCKET, buckets.patch),
        ("PUT", _BUCKET, buckets.update),
        ("DELETE", _BUCKET, buckets.delete),
        ("GET", f"{_BUCKET}/storageLayout", buckets.layout),
        ("GET", f"{_BUCKET}/managedFolders", buckets.list_managed_folders),
        ("GET", f"{_BUCKET}/iam", policies.get),
        ("PUT", f"{_BUCKET}/iam", policies.set),
        ("GET", f"{_BUCKET}/iam/testPermissions", policies.test),
        ("GET", "/storage/v1/projects/{project}/serviceAccount", service_account),
        ("GET", _OBJECTS, contents.list),
        ("GET", _OBJECT, contents.get),
        ("GET", "/download" + _OBJECT, contents.download),
        ("PATCH", _OBJECT, contents.patch),
        ("PUT", _OBJECT, contents.update),
        ("DELETE", _OBJECT, contents.delete),
        ("POST", f"{_OBJECT}/copyTo/{_TARGET}", contents.copy),
        ("POST", f"{_OBJECT}/rewriteTo/{_TARGET}", contents.rewrite),
        ("POST", f"{_OBJECT}/compose", contents.compose),
    ]
    sending = [
        (verb, f"{root}/upload{_OBJECTS}", handler)
        for root in ("", "/resumable")  # gcloud has the latter for uploads in chunks
        for verb, handler in (
            ("POST", uploads.insert),
            ("PUT", uploads.resume),
            ("DELETE", uploads.cancel),
        )
    ]
    verbs = [*VERBS, "OPTIONS"]
    rest = ("/storage/v1/", "/upload/storage/v1/", "/download/storage/v1/")

    answered = [
        API.route(verb, path, handler, defined=path.removeprefix("/download"))
        for verb, path, handler in calls
    ]
    refused = [Route(path + "{rest:path}", stream_to(_refuse), methods=verbs) for path in rest]
    batches = Batches([*answered, *refused])
    return [
        *answered,
        Route("/batch/storage/v1", API.wrap(batches.run), methods=["POST"]),
        *(Route(path, stream_to(handler), methods=[method]) for method, path, handler in sending),
        *refused,
        *parts.routes(objects),
    ]


async def _refuse(call: Call, _: Chunks) -> Response:
    """Refuse whatever the local cloud does not know of the service."""
    raise not_implemented(template(describe(call.request)))


def template(path: str) -> str:
    """Return the path, or a request's verb and path, with the names of resources taken out."""
    return re.sub(
        rf"/({'|'.join(_PARTS)})/[^/]+", lambda match: f"/{match[1]}/{{{_PARTS[match[1]]}}}", path
    )
