"""Google's Resource Manager, as far as SDKs ask it for a project's id or number.

Paths and fields: google.cloud.resourcemanager_v3, services/projects and types/projects.py.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.google.projects import Projects, project_number
from local_cloud.google.rest import VERBS, ApiError, refuse_unknown
from local_cloud.platform import Platform, Service


def service(platform: Platform) -> Service:
    """Return Resource Manager."""
    return Service(routes=routes(Projects(platform.records)))


def routes(projects: Projects) -> list[BaseRoute]:
    """projects.get; what else there is of the service is answered with 501."""

    def get(request: Request) -> Response:
        name = unquote(request.path_params["project"])
        found = projects.get(name)
        if found is None:
            # The service does not say which of the two it is.
            message = f"Permission denied on resource 'projects/{name}' (or it may not exist)."
            return ApiError("PERMISSION_DENIED", message).response()
        created = datetime.fromtimestamp(found["created"], UTC).isoformat().replace("+00:00", "Z")
        return JSONResponse(
            {
                "name": f"projects/{project_number(found['id'])}",
                "projectId": found["id"],
                "displayName": found["id"],
                "state": "ACTIVE",
                "createTime": created,
                "updateTime": created,
                "etag": f'W/"{zlib.crc32(created.encode()):08x}"',
            }
        )

    return [
        Route("/v3/projects/{project}", get, methods=["GET"]),
        Route("/v3/{rest:path}", refuse_unknown, methods=VERBS),
    ]
