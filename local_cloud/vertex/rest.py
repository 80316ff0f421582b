"""What the routes of every service share: paths, names, bodies and pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import JSONResponse

from local_cloud import bodies
from local_cloud.projects import project_number
from local_cloud.vertex.errors import ApiError
from local_cloud.vertex.resources import numbered
from local_cloud.vertex.schema import Json, require

LOCATION = "/projects/{project}/locations/{location}"
PARENT = f"/v1{LOCATION}"


class _Id(StringConvertor):
    """A resource's id: what follows a colon is the name of a method."""

    regex = "[^/:]+"


register_url_convertor("id", _Id())


def parent(request: Request) -> str:
    """`projects/NUMBER/locations/LOCATION` of a request: the service names projects by number."""
    path = request.path_params
    project, location = _id(path["project"]), _id(path["location"])
    return f"projects/{project_number(project)}/locations/{location}"


def resource_name(request: Request, collection: str) -> str:
    """The full name of the resource that a request is about."""
    return f"{parent(request)}/{collection}/{_id(request.path_params['id'])}"


def _id(encoded: str) -> str:
    """A part of a resource's name, decoded; what is one segment of the path stays one."""
    found = unquote(encoded)
    require("/" not in found, f"{found!r} is not a valid resource id")
    return found


def named(request: Request) -> str:
    """What a request's path names, however deep it lies: without the method after a colon."""
    path: str = request.scope["path"].partition("/v1/")[2]
    *above, last = path.split("/")
    return numbered("/".join(map(_id, [*above, last.partition(":")[0]])))


def above(request: Request) -> str:
    """The parent of the collection that a request is about."""
    return named(request).rpartition("/")[0]


async def body(request: Request) -> Json:
    """The request's JSON object, or INVALID_ARGUMENT."""
    try:
        found = bodies.parse(await bodies.read(request))
    except bodies.TooLarge as problem:
        raise ApiError("INVALID_ARGUMENT", str(problem), http=413) from None
    except ValueError as problem:
        raise ApiError("INVALID_ARGUMENT", f"Invalid JSON payload received: {problem}") from None
    if not isinstance(found, dict):
        raise ApiError("INVALID_ARGUMENT", "Invalid JSON payload received: not an object")
    return found


def page(field: str, found: tuple[list[Any], str]) -> JSONResponse:
    """The answer to a list request."""
    items, token = found
    return JSONResponse({field: items, "nextPageToken": token})
