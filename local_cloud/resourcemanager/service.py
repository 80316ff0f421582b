"""Google's Resource Manager, as far as SDKs ask it for a project's id or number.

Paths and fields: google.cloud.resourcemanager_v3, services/projects and types/projects.py.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from local_cloud.projects import Projects, project_number
from local_cloud.service import Platform, Service

_METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE"]


def service(platform: Platform) -> Service:
    """Return Resource Manager."""
    return Service(routes=routes(platform.projects))


def routes(projects: Projects) -> list[BaseRoute]:
    """projects.get; what else there is of the service is answered with 501."""

    def get(request: Request) -> JSONResponse:
        name = unquote(request.path_params["project"])
        found = projects.get(name)
        if found is None:
            # The service does not say which of the two it is.
            message = f"Permission denied on resource 'projects/{name}' (or it may not exist)."
            return _refused(403, "PERMISSION_DENIED", message)
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

    def missing(request: Request) -> JSONResponse:
        what = f"{request.method} /v3/{request.path_params['rest']}"
        return _refused(501, "UNIMPLEMENTED", f"not implemented in the local cloud: {what}")

    return [
        Route("/v3/projects/{project}", get, methods=["GET"]),
        Route("/v3/{rest:path}", missing, methods=_METHODS),
    ]


def _refused(code: int, status: str, message: str) -> JSONResponse:
    error = {"code": code, "message": message, "status": status}
    return JSONResponse({"error": error}, code)
