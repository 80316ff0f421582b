"""The service's errors: a google.rpc.Status as JSON, with the HTTP status that belongs to it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse

from local_cloud.errors import LocalCloudError
from local_cloud.filters import InvalidFilter

# HTTP status of each canonical code: google/rpc/code.proto
HTTP = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
}
# The numbers of the codes that a job's `error` field carries.
CANCELLED, INVALID_ARGUMENT, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL = 1, 3, 4, 8, 13


class ApiError(LocalCloudError):
    """A request that the service refuses; `status` is the canonical code's name."""

    def __init__(self, status: str, message: str, http: int | None = None) -> None:
        """`message` says what is wrong with the request, and where; `http`: another HTTP status."""
        super().__init__(message)
        self.status = status
        self.http = http or HTTP[status]


def not_found(name: str) -> ApiError:
    """No resource has this name."""
    if "/" not in name:
        return ApiError("INVALID_ARGUMENT", f"{name!r} is not the name of a resource.")
    kind = name.split("/")[-2].removesuffix("s")
    return ApiError("NOT_FOUND", f"The {kind} {name} does not exist.")


def render(_: Request, problem: Exception) -> JSONResponse:
    """What the SDK turns into an exception of google.api_core."""
    if isinstance(problem, InvalidFilter):
        problem = ApiError("INVALID_ARGUMENT", str(problem))
    assert isinstance(problem, ApiError)
    error = {"code": problem.http, "message": str(problem), "status": problem.status}
    return JSONResponse({"error": error}, problem.http)
