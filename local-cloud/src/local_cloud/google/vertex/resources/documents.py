"""Resources by name, as JSON documents in the store; and the operations on them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from local_cloud.google import rest
from local_cloud.google.filters import Functions, camel, compile_filter, order
from local_cloud.google.projects import project_number
from local_cloud.google.rest import page_token, read_page_token
from local_cloud.google.vertex.resources.errors import not_found
from local_cloud.google.vertex.resources.schema import new_id, require, timestamp
from local_cloud.json_types import Json
from local_cloud.store import readable
from local_cloud.store.records import Records

TYPES = "type.googleapis.com/google.cloud.aiplatform.v1."
EMPTY = "type.googleapis.com/google.protobuf.Empty"
VERSION = "version"  # in an operation's document: of the API, if it is not v1
PAGE = 100  # resources in an answer where the request names no pageSize
_KEY = ""  # of the record's name, among an item's fields


def get(records: Records, name: str) -> Json:
    """Return the document of this name, or NOT_FOUND."""
    document = records.get("vertex", name)
    if document is None:
        raise not_found(name)
    return document


def number_project(name: str) -> str:
    """Return a resource's name with its project by number, as the service writes it."""
    root, _, rest = name.partition("/")
    project, _, rest = rest.partition("/")
    return f"{root}/{project_number(project)}/{rest}" if root == "projects" else name


def page(
    records: Records,
    collection: str,
    *,
    query: dict[str, str],
    render: Callable[[Json], Json],
    kind: str = "vertex",
    functions: Functions | None = None,
) -> tuple[list[Json], str]:
    """Return one page of a collection's resources, filtered and ordered, and the next page's token.

    `functions` are those that the filter may call. What cannot be rendered is left out.
    """
    keep, by = compile_filter(query.get("filter", ""), functions), query.get("orderBy", "")

    def shown(name: str, document: Json) -> tuple[str, Json]:
        return name, _with_name(render(document))

    # Memory holds what they are ordered by, and whole only those of the page: one may have a MB.
    short = [
        _ordered_fields(item, by) | {_KEY: name}
        for name, item in readable.each(kind, records.list(kind, f"{collection}/"), shown)
        if keep(item)
    ]
    start, size = _window(query)
    names = [each[_KEY] for each in order(short, by)]
    there = ((name, records.get(kind, name)) for name in names[start : start + size])
    known = ((name, document) for name, document in there if document)
    chosen = list(rest.fit(item for _, item in readable.each(kind, known, shown)))
    after = start + len(chosen)
    return chosen, page_token(str(after)) if chosen and after < len(names) else ""


def _with_name(resource: Json) -> Json:
    """Return a resource; one without a name is none, and raises TypeError."""
    if not isinstance(resource.get("name"), str):
        raise TypeError("it has no name")
    return resource


def _ordered_fields(item: Json, by: str) -> Json:
    """Return what order() looks at."""
    roots = {part.split()[0].split(".")[0] for part in by.split(",") if part.strip()}
    names = roots | {camel(name) for name in roots} | {"createTime"}
    return {name: item[name] for name in names if name in item}


def _window(query: dict[str, str]) -> tuple[int, int]:
    """Return how many items come before a page, and how many it has at most."""
    try:
        start = int(read_page_token(query.get("pageToken", "")) or "0")
        size = int(query.get("pageSize", 0)) or PAGE
    except ValueError:
        start = size = -1
    require(start >= 0 and size > 0, "pageToken or pageSize is not valid")
    return start, size


def paginate(
    rendered: list[Json], query: dict[str, str], functions: Functions | None = None
) -> tuple[list[Json], str]:
    """Return one page of resources in the form that is shown, and the next page's token."""
    keep = compile_filter(query.get("filter", ""), functions)
    kept = order([item for item in rendered if keep(item)], query.get("orderBy", ""))
    chosen, after = rest.cut_page(kept, *_window(query))
    return list(chosen), page_token(str(after)) if after else ""


def record_operation(
    records: Records, parent: str, response: Json, *, metadata: str, facts: Json | None = None
) -> Json:
    """Record an operation that has ended with this response, so that it can be asked for again.

    facts: what its metadata has besides the times.
    """
    now = timestamp(time.time())
    operation: dict[str, Any] = {
        "name": f"{parent}/operations/{new_id()}",
        "metadata": {
            "@type": TYPES + metadata,
            "genericMetadata": {"createTime": now, "updateTime": now},
            **(facts or {}),
        },
        "done": True,
        "response": response,
    }
    records.put("vertex", operation["name"], operation)
    return operation


def begin_operation(records: Records, parent: str, metadata: str, *, deployment: str) -> Json:
    """Return an operation that ends with a deployment of the engine; the caller records it."""
    now = timestamp(time.time())
    return {
        "name": f"{parent}/operations/{new_id()}",
        "metadata": {
            "@type": TYPES + metadata,
            "genericMetadata": {"createTime": now, "updateTime": now},
        },
        "done": False,
        "deployment": deployment,
    }


def show_operation(operation: Json) -> Json:
    """Return an operation as the service shows it, in the version of the API that began it."""
    shown = {name: each for name, each in operation.items() if name not in ("deployment", VERSION)}
    version = operation.get(VERSION, "v1")
    for part in ("metadata", "response"):
        kind = shown.get(part, {}).get("@type", "")
        if kind.startswith(TYPES):
            kind = f"{TYPES.replace('.v1.', f'.{version}.')}{kind.removeprefix(TYPES)}"
            shown[part] = shown[part] | {"@type": kind}
    return shown


def note_version(records: Records, operation: Json, version: str) -> Json:
    """Record by which version of the API an operation was begun; return it as that shows it.

    Only the path of the first request has the version: the SDK asks for the operation below /ui.
    """
    with records.transaction():
        noted = get(records, operation["name"]) | {VERSION: version}
        records.put("vertex", operation["name"], noted)
    return show_operation(noted)


def record_deletion(records: Records, name: str) -> Json:
    """Record the operation that says that the resource of this name is deleted."""
    parent = "/".join(name.split("/")[:4])
    return record_operation(records, parent, {"@type": EMPTY}, metadata="DeleteOperationMetadata")


__all__ = ["Functions", "camel", "get", "number_project", "page"]
