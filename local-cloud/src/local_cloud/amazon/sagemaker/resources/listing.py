"""What List operations have in common: filters by time and name, an order, pages."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.json_types import Json
from local_cloud.store import readable

PAGE = 10  # items, where MaxResults is not given
PAGE_BYTES = 10_000_000  # as JSON, about; as on the service, a page may have fewer than MaxResults


def select(items: Iterable[Json], params: Json, *, name: str, status: str) -> list[Json]:
    """Return those that the request's filters let through; name, status: the items' fields."""
    whole = complete(items, name, status, "LastModifiedTime")
    return [item for item in whole if _passes(item, params, name=name, status=status)]


def complete(items: Iterable[Json], *fields: str) -> Iterator[Json]:
    """Yield the items that have these fields and CreationTime: no list fails for one without."""
    for item in items:
        missing = [field for field in ("CreationTime", *fields) if item.get(field) is None]
        if missing:
            readable.note("SageMaker's", str(item)[:100], f"no {missing[0]}")
        else:
            yield item


def _passes(item: Json, params: Json, *, name: str, status: str) -> bool:
    for field in ("CreationTime", "LastModifiedTime"):
        if item[field] <= params.get(f"{field}After", float("-inf")):
            return False
        if item[field] >= params.get(f"{field}Before", float("inf")):
            return False
    if params.get("NameContains", "").lower() not in item[name].lower():
        return False
    return bool(params.get("StatusEquals", item[status]) == item[status])


def shorten(items: Iterable[Json], *fields: str) -> Iterator[Json]:
    """Yield these fields of each item, so that memory holds no more of a list than is shown."""
    for item in items:
        yield {field: item[field] for field in fields if field in item}


def sort(items: Iterable[Json], params: Json, fields: Json, *, default: str) -> list[Json]:
    """Sort as the request says; fields: the item's field for each value of SortBy.

    default: SortOrder, where it is not given.
    """
    field = fields[params.get("SortBy", "CreationTime")]
    down = params.get("SortOrder", default) == "Descending"
    return sorted(items, key=lambda item: (item[field], item["CreationTime"]), reverse=down)


def summaries(
    items: Iterable[Json],
    params: Json,
    *,
    name: str,
    summary: tuple[str, ...],
    member: str,
    default: str = "Descending",
) -> Json:
    """Return a page of summaries of these documents; default: as in sort()."""
    whole = complete(items, name)
    shown = shorten(whole, name, "CreationTime", "LastModifiedTime", *summary)
    times = ({"LastModifiedTime": item["CreationTime"], **item} for item in shown)
    listed = select(times, params, name=name, status=name)
    fields = {"Name": name, "CreationTime": "CreationTime"}
    listed = sort(listed, params, fields, default=default)
    short = [{field: item[field] for field in summary if field in item} for item in listed]
    return page(short, params, member)


def page(items: list[Json], params: Json, member: str) -> Json:
    """Return a page of the items under the name `member`, and NextToken if more follow.

    A page has PAGE_BYTES at most, but one item at least.
    """
    start = _start(params.get("NextToken"))
    end, left = start, PAGE_BYTES
    for item in items[start : start + params.get("MaxResults", PAGE)]:
        left -= len(json.dumps(item, default=str))
        if left < 0 and end > start:
            break
        end += 1
    page: Json = {member: items[start:end]}
    return page | ({"NextToken": _token(end)} if end < len(items) else {})


def _token(start: int) -> str:
    return base64.urlsafe_b64encode(str(start).encode()).decode()


def _start(token: str | None) -> int:
    if token is None:
        return 0
    try:
        return int(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError):
        raise ServiceError("ValidationException", "Invalid pagination token") from None
