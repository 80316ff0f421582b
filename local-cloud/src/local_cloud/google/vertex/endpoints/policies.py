"""Endpoints' IAM policies: get, set, and test permissions.

A policy is kept and told, and nothing is forbidden by it: there are no accounts here.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from local_cloud.google.rest import ApiError, read_json
from local_cloud.google.vertex.endpoints.endpoints import Endpoints
from local_cloud.google.vertex.resources import rest
from local_cloud.google.vertex.resources.schema import require
from local_cloud.json_types import Json

KIND = "vertex-policy"


def routes(endpoints: Endpoints) -> list[BaseRoute]:
    """Return the routes of the three methods, below a version and /ui, where the SDK asks."""
    records = endpoints.records

    def get(name: str, _: Json) -> Json:
        policy: Json = records.get(KIND, name) or {"version": 1, "bindings": []}
        return policy | {"etag": _etag(policy)}

    def put(name: str, body: Json) -> Json:
        policy = body.get("policy", {})
        require(isinstance(policy, dict), "policy: an object is needed")
        sent = policy.get("etag")
        if sent and sent != get(name, {})["etag"]:
            raise ApiError("ABORTED", "There were concurrent policy changes: get it again.")
        bindings = policy.get("bindings", [])
        require(isinstance(bindings, list), "policy.bindings: a list is needed")
        for binding in bindings:
            _check(binding)
        kept = {"version": policy.get("version", 1), "bindings": bindings}
        records.put(KIND, name, kept)
        return get(name, {})

    def test(_: str, body: Json) -> Json:
        return {"permissions": body.get("permissions", [])}

    def route(root: str, method: str, answer: Callable[[str, Json], Json]) -> Route:
        async def handle(request: Request) -> JSONResponse:
            name = rest.read_name(request)
            endpoints.get(name)
            query = {"permissions": request.query_params.getlist("permissions")}
            body = query | await read_json(request)
            return JSONResponse(await run_in_threadpool(answer, name, body))

        path = f"{root}/endpoints/{{id:id}}:{method}"
        return Route(path, handle, methods=["POST", "GET"])

    roots = (f"/ui{rest.LOCATION}", rest.PARENT)
    methods = {"getIamPolicy": get, "setIamPolicy": put, "testIamPermissions": test}
    return [route(root, *each) for root in roots for each in methods.items()]


def _check(binding: object) -> None:
    require(isinstance(binding, dict), "policy.bindings: each is an object")
    assert isinstance(binding, dict)
    role, members = binding.get("role"), binding.get("members")
    require(isinstance(role, str) and "roles/" in role, f"policy.bindings: {role!r} is not a role")
    require(isinstance(members, list) and members, f"policy.bindings: {role} has no members")


def _etag(policy: Json) -> str:
    digest = hashlib.sha256(json.dumps(policy, sort_keys=True).encode()).digest()
    return base64.b64encode(digest[:6]).decode()
