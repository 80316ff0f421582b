"""Google's Resource Manager, as far as SDKs and gcloud ask it about projects.

Paths and fields: google.cloud.resourcemanager_v3, services/projects and types/projects.py; of the
version v1, which gcloud asks, cloud.google.com/resource-manager/reference/rest/v1/projects.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.google.projects import Projects, project_number
from local_cloud.google.rest import VERBS, ApiError, refuse_unknown
from local_cloud.platform import Platform, Service

Found = dict[str, Any]


def service(platform: Platform) -> Service:
    """Return Resource Manager."""
    return Service(routes=routes(Projects(platform.records)))


def routes(projects: Projects) -> list[BaseRoute]:
    """Return the routes: of v3 projects.get, of v1 projects.get and projects.list.

    What else there is of v3 is answered with 501.
    """

    def read(request: Request) -> Found:
        name = unquote(request.path_params["project"])
        project = projects.get(name)
        if project is None:
            # The service does not say which of the two it is.
            message = f"Permission denied on resource 'projects/{name}' (or it may not exist)."
            raise ApiError("PERMISSION_DENIED", message)
        return project

    def get(request: Request) -> Response:
        try:
            return JSONResponse(_render(read(request)))
        except ApiError as refusal:
            return refusal.response()

    def get_v1(request: Request) -> Response:
        try:
            return JSONResponse(_render_v1(read(request)))
        except ApiError as refusal:
            return refusal.response()

    def list_v1(_: Request) -> Response:
        return JSONResponse({"projects": [_render_v1(each) for each in projects.list()]})

    return [
        Route("/v3/projects/{project}", get, methods=["GET"]),
        Route("/v3/{rest:path}", refuse_unknown, methods=VERBS),
        Route("/v1/projects", list_v1, methods=["GET"]),
        Route("/v1/projects/{project}", get_v1, methods=["GET"]),
    ]


def _render(project: Found) -> Found:
    """Return a project as v3 shows it."""
    created = _creation_time(project)
    return {
        "name": f"projects/{project_number(project['id'])}",
        "projectId": project["id"],
        "displayName": project["id"],
        "state": "ACTIVE",
        "createTime": created,
        "updateTime": created,
        "etag": f'W/"{zlib.crc32(created.encode()):08x}"',
    }


def _render_v1(project: Found) -> Found:
    """Return a project as v1 shows it."""
    return {
        "projectNumber": project_number(project["id"]),
        "projectId": project["id"],
        "lifecycleState": "ACTIVE",
        "name": project["id"],
        "createTime": _creation_time(project),
    }


def _creation_time(project: Found) -> str:
    return datetime.fromtimestamp(project["created"], UTC).isoformat().replace("+00:00", "Z")
