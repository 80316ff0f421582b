"""Cloud Logging: `gcloud ai custom-jobs stream-logs` and `gcloud logging read` read jobs' logs.

Paths and fields: cloud.google.com/logging/docs/reference/v2/rest/v2/entries. An entry is a line of
the log of a replica, with the resource `ml_job` that Vertex AI writes.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.routing import Route

from local_cloud.engine.logs import job_files, log_timestamps
from local_cloud.engine.spec import Job, NoSuchJob
from local_cloud.google.definitions.values import WrongValue
from local_cloud.google.filters import InvalidFilter, bounds, compile_filter
from local_cloud.google.projects import Projects, project_number
from local_cloud.google.rest import (
    PAGE_BYTES,
    VERBS,
    Api,
    ApiError,
    BadJson,
    Call,
    NotAnObject,
    page_token,
    read_page_token,
    refuse_unknown,
)
from local_cloud.http.bodies import TooLarge
from local_cloud.platform import Platform, Service

LARGEST = 1000  # entries of a page
# Lines and bytes, for one page: as on the service, it may be empty and others follow.
MOST_SEARCHED, MOST_BYTES_SEARCHED = 50_000, 1 << 26


def _refuse(problem: Exception, _: object) -> ApiError:
    return ApiError("INVALID_ARGUMENT", str(problem))


API = Api(
    "logging.v2",
    {
        TooLarge: lambda problem, _: ApiError("INVALID_ARGUMENT", str(problem), http=413),
        NotAnObject: lambda _, __: ApiError("INVALID_ARGUMENT", "The body must be a JSON object."),
        BadJson: _refuse,
        InvalidFilter: _refuse,
        WrongValue: _refuse,
    },
)


def service(platform: Platform) -> Service:
    """Return Cloud Logging."""

    def list_entries(call: Call) -> dict[str, Any]:
        return _page(platform, call.body)

    return Service(
        routes=[
            API.route("POST", "/v2/entries:list", list_entries),
            Route("/v2/{rest:path}", refuse_unknown, methods=VERBS),
        ]
    )


@dataclass(frozen=True)
class _Log:
    """The log of one replica, and what its entries have in common."""

    name: str  # JOB/REPLICA
    path: Path
    ended: bool
    hidden: bytes  # what nobody is to read in it
    head: Mapping[str, Any]  # the fields of an entry that are the same in all


def _page(platform: Platform, body: dict[str, Any]) -> dict[str, Any]:
    """Answer entries.list; a page's token says how far each log has been read."""
    text = str(body.get("filter") or "")
    passes, limits = compile_filter(text), bounds(text)
    by = body.get("orderBy") or "timestamp asc"
    if by not in ("timestamp asc", "timestamp desc"):
        raise InvalidFilter(f"orderBy: {by!r} is neither 'timestamp asc' nor 'timestamp desc'")
    back = by.endswith("desc")
    size = min(body.get("pageSize") or LARGEST, LARGEST)
    if size < 0:
        raise InvalidFilter(f"page_size {size} is negative")
    places = _places(body.get("pageToken") or "")
    numbers = {_number(name) for name in body.get("resourceNames") or []}
    lowest, highest = (_moment(limit) for limit in limits.get("timestamp", ("", "")))
    merged = heapq.merge(
        *(
            _entries(log, places.get(log.name), lowest=lowest, highest=highest, back=back)
            for log in _logs(platform, numbers, limits)
        ),
        key=lambda entry: (_timestamp(entry[1]), _insert_id(*entry)),
        reverse=back,
    )
    page: list[dict[str, Any]] = []
    left, unsearched = PAGE_BYTES, MOST_BYTES_SEARCHED
    for searched, (log, line) in enumerate(merged, 1):
        entry = _entry(log, line)
        if passes(entry):
            left -= len(json.dumps(entry))
            if len(page) == size or (page and left < 0):
                return {"entries": page, "nextPageToken": _token(places)}
            page.append(entry)
        places[log.name] = line.start if back else line.end
        unsearched -= line.end - line.start
        if searched == MOST_SEARCHED or unsearched <= 0:
            return {"entries": page, "nextPageToken": _token(places)}
    return {"entries": page}


def _token(places: dict[str, int]) -> str:
    return page_token(json.dumps(places))


def _places(token: str) -> dict[str, int]:
    """Return where each log is read on, by its name."""
    if not token:
        return {}
    try:
        content = json.loads(read_page_token(token))
        places = {str(name): int(place) for name, place in content.items()}
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        places = {"": -1}
    if not all(0 <= place <= log_timestamps.ALL for place in places.values()):
        raise InvalidFilter(f"page_token {token!r} is none that an answer had")
    return places


def _moment(text: str) -> float | None:
    """Return a time of a filter in seconds since the epoch; None if it is not in UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo and not moment.utcoffset() else None


def _number(resource: str) -> str:
    """Return the number of the project in projects/PROJECT or projects/PROJECT/…."""
    kind, _, rest = str(resource).partition("/")
    if kind != "projects" or not rest:
        raise InvalidFilter(f"resourceNames: {resource!r} is not projects/PROJECT")
    return project_number(rest.split("/")[0])


def _project(platform: Platform, job: Job) -> str:
    """Return the number of the project that the job was sent to."""
    record = platform.records.get("vertex-job", job.id) or {}
    return str(record.get("name")).partition("/")[2].partition("/")[0]


def _logs(
    platform: Platform, numbers: set[str], limits: Mapping[str, tuple[str, str]]
) -> Iterator[_Log]:
    """Yield the logs of the projects' jobs, or of the one that the filter names."""
    projects = Projects(platform.records)
    first, last = limits.get("resource.labels.job_id", ("", ""))
    for job in platform.engine.jobs():
        if job.dialect != "vertex" or (first and first == last != job.id):
            continue
        if (project := _project(platform, job)) not in numbers:
            continue
        name = projects.id_of(project)
        try:
            logs = platform.engine.logs(job.id)
        except NoSuchJob:  # it has been deleted meanwhile
            continue
        for replica, path in logs.items():
            labels = {"job_id": job.id, "project_id": name, "task_name": replica}
            head = {
                "logName": f"projects/{name}/logs/{replica}",
                "resource": {"type": "ml_job", "labels": labels},
            }
            yield _Log(f"{job.id}/{replica}", path, job.state.ended, platform.engine.hidden, head)


def _entries(
    log: _Log, place: int | None, *, lowest: float | None, highest: float | None, back: bool
) -> Iterator[tuple[_Log, log_timestamps.Line]]:
    """Yield the log, and each line of it between two times.

    place: where it is read on; None: at its beginning or, if back, its end.
    """
    # A filter compares times as texts, which may have fewer digits than a second has.
    lowest = None if lowest is None else lowest - 1
    highest = None if highest is None else highest + 1
    marked = log_timestamps.mark_readable(log.path, log.hidden, ended=log.ended)
    try:
        if back:
            lines = _before(log, place, highest=highest, marked=marked)
        else:
            start = 0 if lowest is None else log_timestamps.since(log.path, lowest)
            lines = log_timestamps.lines(log.path, max(place or 0, start), ended=log.ended)
        for line in lines:
            early = lowest is not None and line.time < lowest
            late = highest is not None and line.time > highest
            if line.end > marked or (early if back else late):
                return
            yield log, line
    except FileNotFoundError:  # its job was deleted meanwhile, or has put something in its place
        return


def _before(
    log: _Log, place: int | None, *, highest: float | None, marked: int
) -> Iterator[log_timestamps.Line]:
    """Return the lines before a byte and, but for one, before a time, the last one first."""
    written = job_files.stat_log(log.path)
    size = written.st_size if written else 0
    end = min(size if place is None else place, marked)
    if highest is not None:
        latest = log_timestamps.since(log.path, highest)
        end = min(end, next((line.end for line in log_timestamps.lines(log.path, latest)), end))
    return log_timestamps.lines_before(log.path, end, ended=log.ended)


def _entry(log: _Log, line: log_timestamps.Line) -> dict[str, Any]:
    return {
        **log.head,
        "timestamp": _timestamp(line),
        "severity": "INFO",
        "insertId": _insert_id(log, line),
        "textPayload": job_files.mask(line.text, log.hidden),
    }


def _timestamp(line: log_timestamps.Line) -> str:
    return f"{datetime.fromtimestamp(line.time, UTC):%Y-%m-%dT%H:%M:%S.%f}000Z"


def _insert_id(log: _Log, line: log_timestamps.Line) -> str:
    return f"{line.start:012d}-{log.path.name.removesuffix('.log')}"
