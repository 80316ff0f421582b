"""The REST routes of the declared resources: paths, names, bodies and answers.

Paths and methods: the http rules in google.cloud.aiplatform_v1.services.*.transports.rest_base.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, cast
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from local_cloud.engine.spec import NoSuchJob
from local_cloud.google.rest import read_json
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.documents import number_project
from local_cloud.google.vertex.resources.resource import Call, Method, Resource
from local_cloud.google.vertex.resources.schema import require
from local_cloud.http import bodies
from local_cloud.json_types import Json
from local_cloud.store.records import Records

LOCATION = "/projects/{project}/locations/{location}"
PARENT = f"/{{version:version}}{LOCATION}"


class _Version(StringConvertor):
    """A version of the API: v1beta1 has the methods of v1, and others that are not here."""

    regex = "v1|v1beta1"


class _Id(StringConvertor):
    """A resource's id: what follows a colon is the name of a method."""

    regex = "[^/:]+"


register_url_convertor("version", _Version())
register_url_convertor("id", _Id())


STANDARD = {  # method and path of each, "*" for a resource's id
    "create": "POST",
    "list": "GET",
    "get": "GET *",
    "patch": "PATCH *",
    "delete": "DELETE *",
}
# Values in the body of a request that is checked on the loop, which takes up to 10 µs for each.
MOST_ON_LOOP = 5000
# In the names of operations' metadata; the other long-running methods delete something.
VERBS = {"create": "Create", "patch": "Update"}


def routes(resource: Resource, records: Records) -> list[BaseRoute]:
    """Return the routes of a kind of resource; records: where its operations are kept."""
    collection = _pattern(f"{PARENT}/{resource.collection}")
    return [
        _route(resource, name, method, collection=collection, records=records)
        for name, method in resource.methods.items()
    ]


def _pattern(path: str) -> str:
    """Return the path with a parameter for each star.

    A colon ends an id; a custom method follows it.
    """
    first, *others = path.split("*")
    return first + "".join(f"{{id{n}:id}}{part}" for n, part in enumerate(others))


def _route(
    resource: Resource, name: str, method: Method, *, collection: str, records: Records
) -> BaseRoute:
    verb, _, rest = STANDARD.get(name, name).partition(" ")
    path = collection + (f"/{{id:id}}{rest[1:]}" if rest.startswith("*") else rest)

    def operation(call: Call) -> Any:
        return perform(resource, name, method, call=call, records=records)

    waits = inspect.iscoroutinefunction(method)
    on_loop = resource.on_loop and not waits and name != "list"  # a list only reads
    most_values = MOST_ON_LOOP if on_loop else bodies.MOST_VALUES

    def render(shown: Json, version: str) -> JSONResponse:
        if version != "v1" and "/operations/" in shown.get("name", ""):
            shown = documents.note_version(records, shown, version)
        return JSONResponse(shown)

    async def answer(request: Request) -> JSONResponse:
        has_body = verb in ("POST", "PATCH", "PUT")
        content = await read_json(request, most_values=most_values) if has_body else {}
        call = Call(read_name(request), request.query_params, content)
        version = request.path_params["version"]
        if waits:
            return await run_in_threadpool(render, await operation(call) or {}, version)
        if on_loop:
            return render(operation(call) or {}, version)
        try:
            return await run_in_threadpool(lambda: render(operation(call) or {}, version))
        except NoSuchJob:  # deleted while it was read: on the loop nothing is
            return render(operation(call) or {}, version)

    return Route(path, answer, methods=[verb])


def perform(resource: Resource, name: str, method: Method, *, call: Call, records: Records) -> Any:
    """Return what the method answers; a long-running one is an operation that has ended."""
    if name not in resource.long_running:
        return method(call)
    with records.transaction():
        answer = method(call)
        if name not in VERBS:
            return documents.record_deletion(records, call.name)
        kind = resource.proto.__name__
        location = "/".join(call.name.split("/")[:4])
        response = {"@type": documents.TYPES + kind, **cast(Json, answer)}
        metadata = f"{VERBS[name]}{kind}OperationMetadata"
        return documents.record_operation(records, location, response, metadata=metadata)


def _id(encoded: str) -> str:
    """Return a part of a resource's name, decoded; what is one segment of the path stays one."""
    segment = unquote(encoded)
    require("/" not in segment, f"{segment!r} is not a valid resource id")
    return segment


def read_name(request: Request) -> str:
    """Return what a request's path names, without the method after a colon."""
    return _name_in(request.scope["path"].partition("/projects/")[2])


@functools.lru_cache(maxsize=1024)  # many requests name the same few endpoints
def _name_in(path: str) -> str:
    """Return the name in a path behind /projects/."""
    *above, last = f"projects/{path}".split("/")
    return number_project("/".join(map(_id, [*above, last.partition(":")[0]])))
