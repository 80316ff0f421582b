"""A kind of resource, declared: its collection, its proto, its methods, which of them take long.

`rest.routes` makes the REST routes of a declaration. A kind whose resources are plain documents is
one line, `Resource.of(Collection(records, "datasets", Dataset))`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Collection as Names
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.json_types import Json


@dataclass(frozen=True)
class Call:
    """A request to a method; projects are named by number, as the service does."""

    name: str  # of the resource or, for a method of the collection, of the collection
    query: QueryParams
    body: Json

    @property
    def parent(self) -> str:
        """Return the name of what the collection, or the resource, lies in."""
        return self.name.rpartition("/")[0]

    @property
    def mask(self) -> str:
        """Return the fields that a patch changes."""
        return self.query.get("updateMask", "")

    @property
    def page(self) -> dict[str, str]:
        """Return what says which resources a list has: filter, orderBy, pageSize, pageToken."""
        return dict(self.query)


Method = Callable[[Call], Json | Awaitable[Json] | None]  # None: an empty answer


@dataclass(frozen=True)
class Resource:
    """A kind of resource.

    collection: below a location, `customJobs` or, for what lies in others, `tensorboards/*/runs`.
    methods: what answers create, list, get, patch and delete, as far as there are these, and custom
    methods: `POST :upload` of the collection, `POST *:cancel` of a resource. A coroutine is awaited
    on the server's loop; everything else is called in a thread or, with on_loop, on the loop, where
    the engine is, but for list.
    long_running: those that are answered with an operation, which has ended.
    """

    collection: str
    proto: Any
    methods: Mapping[str, Method]
    long_running: Names[str] = ()
    on_loop: bool = False

    @classmethod
    def of(
        cls,
        kind: Collection,
        within: str = "",
        *,
        methods: Mapping[str, Method] | None = None,
        without: Names[str] = (),
        long_running: Names[str] = ("delete",),
        on_loop: bool = False,
    ) -> Resource:
        """Return a kind of plain documents, with the usual methods unless `methods` has others.

        within: the collection of what its resources lie in: `tensorboards/*`.
        """
        available = {**_usual(kind), **(methods or {})}
        return cls(
            collection="/".join(filter(None, [within, kind.noun])),
            proto=kind.proto,
            methods={name: method for name, method in available.items() if name not in without},
            long_running=long_running,
            on_loop=on_loop,
        )


def _usual(kind: Collection) -> dict[str, Method]:
    """Return what answers the methods that all kinds of documents have."""

    def list_all(call: Call) -> Json:
        return render_list(kind, kind.page(call.parent, call.page))

    return {
        "create": lambda call: kind.create(call.parent, call.body, id_in_query(kind, call)),
        "list": list_all,
        "get": lambda call: kind.get(call.name),
        "patch": lambda call: kind.patch(call.name, call.body, call.mask),
        "delete": lambda call: kind.delete(call.name, call.query.get("etag", "")),
    }


def id_in_query(kind: Collection, call: Call) -> str:
    """Return the id that a create request wants: `tensorboardRunId` of a TensorboardRun."""
    return call.query.get(f"{kind.singular}Id", "")


def render_list(kind: Collection, page: tuple[list[Json], str]) -> Json:
    """Return the answer to a list request: `{"tensorboardRuns": […], "nextPageToken": …}`."""
    resources, token = page
    return {kind.plural: resources, "nextPageToken": token}
