"""Cloud Logging: `gcloud ai custom-jobs stream-logs` and `gcloud logging read` read jobs' logs.

Paths and fields: cloud.google.com/logging/docs/reference/v2/rest/v2/entries. An entry is a line of
the log of a replica, with the resource `ml_job` that Vertex AI writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from local_cloud import bodies
from local_cloud.engine import log_timestamps
from local_cloud.engine.spec import Job
from local_cloud.filters import InvalidFilter, compile_filter
from local_cloud.projects import project_number
from local_cloud.service import Platform, Service

LARGEST = 1000  # entries of a page
METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE"]


def service(platform: Platform) -> Service:
    """Return Cloud Logging."""

    async def listed(request: Request) -> JSONResponse:
        try:
            found = bodies.parse(await bodies.read(request) or b"{}")
            return JSONResponse(await run_in_threadpool(_page, platform, found))
        except (InvalidFilter, ValueError, AttributeError, TypeError) as problem:
            return _refused(400, "INVALID_ARGUMENT", str(problem))

    async def missing(request: Request) -> JSONResponse:
        what = f"{request.method} /v2/{request.path_params['rest']}"
        return _refused(501, "UNIMPLEMENTED", f"not implemented in the local cloud: {what}")

    return Service(
        routes=[
            Route("/v2/entries:list", listed, methods=["POST"]),
            Route("/v2/{rest:path}", missing, methods=METHODS),
        ]
    )


def _page(platform: Platform, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to entries.list; a page's token is how many entries came before it."""
    passes = compile_filter(body.get("filter") or "")
    by = body.get("orderBy") or "timestamp asc"
    if by not in ("timestamp asc", "timestamp desc"):
        raise InvalidFilter(f"orderBy: {by!r} is neither 'timestamp asc' nor 'timestamp desc'")
    numbers = {_number(name) for name in body.get("resourceNames") or []}
    found = [
        entry
        for job in platform.engine.jobs()
        if job.dialect == "vertex" and (project := _project(platform, job)) in numbers
        for entry in _entries(platform, job, project)
        if passes(entry)
    ]
    found.sort(key=lambda entry: (entry["timestamp"], entry["insertId"]), reverse="desc" in by)
    size = min(int(body.get("pageSize") or LARGEST), LARGEST)
    token = str(body.get("pageToken") or 0)
    if not token.isdecimal():
        raise InvalidFilter(f"page_token {token!r} is none that an answer had")
    start = int(token)
    more = {"nextPageToken": str(start + size)} if start + size < len(found) else {}
    return {"entries": found[start : start + size]} | more


def _number(resource: str) -> str:
    """The number of the project in projects/PROJECT or projects/PROJECT/…."""
    kind, _, rest = str(resource).partition("/")
    if kind != "projects" or not rest:
        raise InvalidFilter(f"resourceNames: {resource!r} is not projects/PROJECT")
    return project_number(rest.split("/")[0])


def _project(platform: Platform, job: Job) -> str:
    """The number of the project that the job was sent to."""
    record = platform.records.get("vertex-job", job.id) or {"name": "projects/"}
    return str(record["name"]).split("/")[1]


def _entries(platform: Platform, job: Job, project: str) -> Iterator[dict[str, Any]]:
    name = platform.projects.id_of(project)
    for replica, log in platform.engine.logs(job.id).items():
        if not job.state.ended:  # times that were shown once stay as they are
            log_timestamps.mark(log, platform.engine.hidden)
        for line in log_timestamps.lines(log, ended=job.state.ended):
            yield {
                "logName": f"projects/{name}/logs/{replica}",
                "resource": {
                    "type": "ml_job",
                    "labels": {"job_id": job.id, "project_id": name, "task_name": replica},
                },
                "timestamp": f"{datetime.fromtimestamp(line.time, UTC):%Y-%m-%dT%H:%M:%S.%f}000Z",
                "severity": "INFO",
                "insertId": f"{line.start:012d}-{replica}",
                "textPayload": line.text,
            }


def _refused(code: int, status: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message, "status": status}}, code)
