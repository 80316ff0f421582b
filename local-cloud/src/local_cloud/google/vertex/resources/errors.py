"""The service's errors: a google.rpc.Status as JSON, with the HTTP status that belongs to it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from local_cloud.google.filters import InvalidFilter
from local_cloud.google.rest import ApiError, BadJson
from local_cloud.http.bodies import TooLarge

# The numbers of the codes that a job's `error` field carries.
CANCELLED, INVALID_ARGUMENT, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL = 1, 3, 4, 8, 13


def not_found(name: str) -> ApiError:
    """Return the error that no resource has this name."""
    if "/" not in name:
        return ApiError("INVALID_ARGUMENT", f"{name!r} is not the name of a resource.")
    kind = name.split("/")[-2].removesuffix("s")
    return ApiError("NOT_FOUND", f"The {kind} {name} does not exist.")


REFUSED = (ApiError, BadJson, InvalidFilter, TooLarge)


def render(_: Request, problem: Exception) -> Response:
    """Return what the SDK turns into an exception of google.api_core."""
    match problem:
        case ApiError():
            return problem.response()
        case TooLarge():
            return ApiError("INVALID_ARGUMENT", str(problem), http=413).response()
        case BadJson():
            what = f"Invalid JSON payload received: {problem}"
            return ApiError("INVALID_ARGUMENT", what).response()
        case _:
            return ApiError("INVALID_ARGUMENT", str(problem)).response()
