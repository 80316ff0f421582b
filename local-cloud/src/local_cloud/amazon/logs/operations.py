"""CloudWatch Logs' API, as far as one reads logs with it."""

from __future__ import annotations

import base64
import heapq
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress

from local_cloud.amazon.account import ACCOUNT
from local_cloud.amazon.logs.patterns import compile_pattern
from local_cloud.amazon.logs.streams import Event, Stream, events, events_before, streams
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.protocols.json_protocol import JsonService
from local_cloud.client.environment import REGION
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.logs import job_files, log_timestamps
from local_cloud.engine.serving.deployments import Deployments
from local_cloud.http.whole_numbers import whole
from local_cloud.json_types import Json

PAGE_EVENTS, PAGE_BYTES = 10_000, 1 << 20  # of GetLogEvents and FilterLogEvents
# Lines and bytes, for one page: a log may hold a thousand times as many.
MOST_SEARCHED, MOST_BYTES_SEARCHED = 100_000, 1 << 26
PAGE_NAMES = 50  # of the lists of groups and streams
LONGEST_LOG = 1 << 62  # bytes; a file knows no place beyond
ARN = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:"  # and the group's name
TOKEN = re.compile(r"([fb])/(\d{56})/s")  # a direction and a byte offset


class Logs:
    """The operations; what they return is written as the service model says, times in ms."""

    def __init__(self, engine: JobQueue, serving: Deployments) -> None:
        """engine, serving: whose logs they are."""
        self._engine, self._serving = engine, serving

    def describe_log_groups(self, params: Json) -> Json:
        """Return the groups that have a stream."""
        for name in ("accountIdentifiers", "includeLinkedAccounts", "logGroupIdentifiers"):
            if params.get(name):
                raise not_implemented(f"CloudWatch Logs DescribeLogGroups {name}")
        prefix, part = params.get("logGroupNamePrefix"), params.get("logGroupNamePattern")
        if prefix and part:
            raise _invalid("LogGroup name prefix and LogGroup name pattern are mutually exclusive")
        if params.get("logGroupClass", "STANDARD") != "STANDARD":
            return {"logGroups": []}
        groups: dict[str, list[Stream]] = {}
        for stream in streams(self._engine, self._serving):
            if stream.group.startswith(prefix or "") and (part or "") in stream.group:
                groups.setdefault(stream.group, []).append(stream)
        listed = [_group(name, groups[name]) for name in sorted(groups)]
        start, limit = whole(params.get("nextToken", "0")), params.get("limit", PAGE_NAMES)
        if start is None:
            raise _invalid("The specified nextToken is invalid.")
        more = {"nextToken": str(start + limit)} if start + limit < len(listed) else {}
        return {"logGroups": listed[start : start + limit]} | more

    def describe_log_streams(self, params: Json) -> Json:
        """Return the streams by name or by the time of their latest event, in pages."""
        prefix = params.get("logStreamNamePrefix", "")
        by_time = params.get("orderBy") == "LastEventTime"
        if by_time and prefix:
            raise _invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
        listed = [
            _describe_stream(one) for one in self._group(params) if one.name.startswith(prefix)
        ]
        if by_time:
            listed.sort(key=lambda shown: shown.get("lastEventTimestamp", 0))
        if params.get("descending"):
            listed.reverse()
        if token := params.get("nextToken"):
            names = [shown["logStreamName"] for shown in listed]
            if token not in names:
                raise _invalid("The specified nextToken is invalid.")
            listed = listed[names.index(token) + 1 :]
        page = listed[: params.get("limit", PAGE_NAMES)]
        more = {"nextToken": page[-1]["logStreamName"]} if len(page) < len(listed) else {}
        return {"logStreams": page} | more

    def get_log_events(self, params: Json) -> Json:
        """Return a page of one stream, and the tokens of the pages behind and before it.

        As on the service, a page may be empty and others follow; at the end the token is the same.
        """
        group = {stream.name: stream for stream in self._group(params)}
        stream = _stream(group, params["logStreamName"])
        forward, place = bool(params.get("startFromHead")), None
        if token := params.get("nextToken"):
            forward, place = _read(token)
        since, before = params.get("startTime"), params.get("endTime")
        limit = params.get("limit", PAGE_EVENTS)
        try:
            if forward:
                page, far = _page(events(stream, place or 0, since=since, before=before), limit)
            else:
                page, far = _page(events_before(stream, place, since=since, before=before), limit)
        except FileNotFoundError:  # its job has been deleted meanwhile
            raise _no_such("stream") from None
        if not page and far:  # nothing but empty lines so far
            first, last = far.start, far.end
        else:
            page.sort(key=lambda event: event.start)
            first = page[0].start if page else place or 0
            last = page[-1].end if page else place or 0
        return {
            "events": [_describe_event(event) for event in page],
            "nextForwardToken": _token("f", last),
            "nextBackwardToken": _token("b", first),
        }

    def filter_log_events(self, params: Json) -> Json:
        """Return a page of the matching events of several streams, in the order of their times.

        Its token says how far each stream has been read, so that no event is lost or met twice
        while the streams grow. As on the service, a page may be empty and others follow.
        """
        if params.get("startFromHead") is False:
            raise not_implemented("CloudWatch Logs FilterLogEvents startFromHead=False")
        matches = compile_pattern(params.get("filterPattern", ""))
        offsets = _read_offsets(params["nextToken"]) if "nextToken" in params else {}
        before = params["endTime"] + 1 if "endTime" in params else None  # this one is included
        merged = heapq.merge(
            *(
                _while_there(
                    events(
                        stream,
                        offsets.get(stream.name, 0),
                        since=params.get("startTime"),
                        before=before,
                    )
                )
                for stream in self._select_streams(params)
            ),
            key=lambda event: event.stamp,
        )
        page: list[Event] = []
        size, more, unsearched = 0, False, MOST_BYTES_SEARCHED
        for searched, event in enumerate(merged):
            if more := searched == MOST_SEARCHED or unsearched <= 0:
                break
            unsearched -= event.end - event.start
            if event.message and matches(event.message):
                size += event.size
                more = len(page) == params.get("limit", PAGE_EVENTS)
                more = more or (bool(page) and size > PAGE_BYTES)
                if more:
                    break
                page.append(event)
            offsets[event.stream] = event.end
        on_page = [
            {"logStreamName": event.stream, "eventId": _identity(event)} | _describe_event(event)
            for event in page
        ]
        token = {"nextToken": _token_of(offsets)} if more else {}
        return {"events": on_page, "searchedLogStreams": []} | token

    def _group(self, params: Json) -> list[Stream]:
        """Return the streams of the group that is asked for, if it is there."""
        name, identifier = params.get("logGroupName"), params.get("logGroupIdentifier")
        if bool(name) == bool(identifier):
            raise _invalid("Give logGroupName or logGroupIdentifier, and not both.")
        all_streams = streams(self._engine, self._serving)
        wanted = str(name or identifier).removeprefix(ARN).removesuffix(":*")
        if not (group := [stream for stream in all_streams if stream.group == wanted]):
            raise _no_such("group")
        return group

    def _select_streams(self, params: Json) -> list[Stream]:
        """Return the streams that FilterLogEvents is to look at."""
        names, prefix = params.get("logStreamNames"), params.get("logStreamNamePrefix")
        if names and prefix:
            raise _invalid("Give logStreamNames or logStreamNamePrefix, and not both.")
        group = {stream.name: stream for stream in self._group(params)}
        if names:
            return [_stream(group, name) for name in dict.fromkeys(names)]
        return [stream for stream in group.values() if stream.name.startswith(prefix or "")]


def api(engine: JobQueue, serving: Deployments) -> JsonService:
    """CloudWatch Logs' API."""
    logs = Logs(engine, serving)
    operations = {
        "DescribeLogGroups": logs.describe_log_groups,
        "DescribeLogStreams": logs.describe_log_streams,
        "GetLogEvents": logs.get_log_events,
        "FilterLogEvents": logs.filter_log_events,
    }
    return JsonService("logs", operations, in_thread=operations)


def _while_there(events: Iterator[Event]) -> Iterator[Event]:
    """Yield the events of a log until its job is deleted, or puts something else in its place."""
    with suppress(FileNotFoundError):
        yield from events


def _page(events: Iterable[Event], limit: int) -> tuple[list[Event], Event | None]:
    """Return as many events as fit on a page, one at least, if so many lines have any.

    And the last line that was read, where the search was given up before the log's end.
    """
    page: list[Event] = []
    size, unsearched = 0, MOST_BYTES_SEARCHED
    for searched, event in enumerate(events, 1):
        if event.message:
            size += event.size
            if len(page) == limit or (page and size > PAGE_BYTES):
                break
            page.append(event)
        unsearched -= event.end - event.start
        if searched == MOST_SEARCHED or unsearched <= 0:
            return page, event
    return page, None


def _stream(group: dict[str, Stream], name: str) -> Stream:
    if name not in group:
        raise _no_such("stream")
    return group[name]


def _no_such(what: str) -> ServiceError:
    return ServiceError("ResourceNotFoundException", f"The specified log {what} does not exist.")


def _invalid(message: str) -> ServiceError:
    return ServiceError("InvalidParameterException", message)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _group(name: str, logs: list[Stream]) -> Json:
    sizes = (job_files.stat_log(stream.log) for stream in logs)
    return {
        "logGroupName": name,
        "creationTime": _milliseconds(min(stream.created for stream in logs)),
        "metricFilterCount": 0,
        "storedBytes": sum(seen.st_size for seen in sizes if seen),
        "arn": f"{ARN}{name}:*",
        "logGroupArn": f"{ARN}{name}",
        "logGroupClass": "STANDARD",
    }


def _describe_stream(stream: Stream) -> Json:
    """Return a stream as DescribeLogStreams shows it.

    The service has long ceased to count its bytes.
    """
    shown = {
        "logStreamName": stream.name,
        "creationTime": _milliseconds(stream.created),
        "arn": f"{ARN}{stream.group}:log-stream:{stream.name}",
        "storedBytes": 0,
    }
    if span := log_timestamps.span(stream.log):
        first, latest = map(_milliseconds, span)
        shown |= {"firstEventTimestamp": first, "lastEventTimestamp": latest}
        shown |= {"lastIngestionTime": latest}
    return shown


def _describe_event(event: Event) -> Json:
    return {"timestamp": event.stamp, "message": event.message, "ingestionTime": event.stamp}


def _identity(event: Event) -> str:
    """56 digits, as the service's own are; no two events have the same."""
    return f"{event.stamp:013d}{zlib.crc32(event.stream.encode()):010d}{event.start:033d}"


def _token(direction: str, place: int) -> str:
    return f"{direction}/{place:056d}/s"


def _read(token: str) -> tuple[bool, int]:
    """Return whether it leads forward, and from which byte."""
    match = TOKEN.fullmatch(token)
    if not match or int(match[2]) > LONGEST_LOG:
        raise _invalid("The specified nextToken is invalid.")
    return match[1] == "f", int(match[2])


def _token_of(offsets: dict[str, int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(offsets).encode()).decode()


def _read_offsets(token: str) -> dict[str, int]:
    try:
        content = json.loads(base64.urlsafe_b64decode(token))
        offsets = {str(name): int(offset) for name, offset in content.items()}
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        raise _invalid("The specified nextToken is invalid.") from None
    if not all(0 <= offset <= LONGEST_LOG for offset in offsets.values()):
        raise _invalid("The specified nextToken is invalid.")
    return offsets
