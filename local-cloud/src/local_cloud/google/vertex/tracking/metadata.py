"""The metadata store: experiments and runs (contexts), executions, artifacts, and their lineage."""

from __future__ import annotations

import re
import time
import uuid
from typing import Any

from google.cloud.aiplatform_v1.types import (
    AddContextArtifactsAndExecutionsRequest,
    AddContextChildrenRequest,
    AddExecutionEventsRequest,
    Artifact,
    Context,
    Execution,
    MetadataStore,
    RemoveContextChildrenRequest,
)

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.documents import number_project
from local_cloud.google.vertex.resources.errors import not_found
from local_cloud.google.vertex.resources.schema import parse_message, require, timestamp
from local_cloud.http.whole_numbers import whole
from local_cloud.json_types import Json
from local_cloud.store.records import Records

# "4-128 characters in length. Valid characters are [a-z][0-9]-": types/metadata_service.py
ID = re.compile(r"[a-z0-9-]{4,128}")
STORE_ID = re.compile(r"[a-z0-9-]{4,128}")
EVENT = re.compile(r"INPUT|OUTPUT")
# What is in a context, and what went into an execution or came out of it: records of the names
# `CONTEXT MEMBER` and `EXECUTION ARTIFACT TYPE`.
MEMBERS, EVENTS = "vertex-members", "vertex-events"
MOST_HOPS = 100  # "max_hops … Values greater than 100": types/metadata_service.py


class Metadata:
    """The stores, and the three kinds of resources in them."""

    def __init__(self, records: Records) -> None:
        """Keep them in `records`."""
        self.records = records
        self.stores = Collection(records, "metadataStores", MetadataStore, ids=STORE_ID)
        self.contexts = Collection(records, "contexts", Context, ids=ID, fixed=("parentContexts",))
        self.executions = Collection(records, "executions", Execution, ids=ID, kept=("state",))
        self.artifacts = Collection(records, "artifacts", Artifact, ids=ID, kept=("state",))

    # ---- stores -----------------------------------------------------------------------------
    def create_store(self, parent: str, body: Json, chosen: str) -> Json:
        """Make a store, and return it."""
        return self.stores.create(parent, body, chosen)

    def delete_store(self, name: str) -> None:
        """Delete a store with all that is in it."""
        with self.records.transaction():
            self.stores.delete(name)
            for collection in (self.contexts, self.executions, self.artifacts):
                collection.delete_below(name)
            self.records.delete_below(MEMBERS, f"{name}/")
            self.records.delete_below(EVENTS, f"{name}/")

    # ---- what is in a store -----------------------------------------------------------------
    def create(self, kind: Collection, store: str, body: Json, *, chosen: str) -> Json:
        """Create a context, an execution or an artifact in a store that is there."""
        self.stores.get(store)
        more: Json = {}
        if kind is self.contexts:
            require(
                not body.get("parentContexts"), "context.parentContexts: use addContextChildren"
            )
        return kind.create(store, body, chosen or str(uuid.uuid4()), **more)

    def page(self, kind: Collection, store: str, query: dict[str, str]) -> tuple[list[Json], str]:
        """Return a page of one kind.

        `in_context("NAME")` is a filter of executions and artifacts.
        """
        self.stores.get(store)
        functions: documents.Functions = {}
        if kind is not self.contexts:
            functions["in_context"] = lambda resource, context: bool(
                self.records.get(MEMBERS, f"{number_project(context)} {resource['name']}")
            )
        return kind.page(store, query, functions=functions)

    def delete(self, kind: Collection, name: str, etag: str = "") -> None:
        """Delete a context, an execution or an artifact; what it is linked to stays."""
        with self.records.transaction():
            kind.delete(name, etag)
            if kind is self.contexts:
                self.records.delete_below(MEMBERS, f"{name} ")
                self._forget_parent(name)

    def _forget_parent(self, name: str) -> None:
        for context in self.contexts.children(_store(name)):
            parents = context.get("parentContexts", [])
            if name in parents:
                parents.remove(name)
                self.records.put(self.contexts.kind, context["name"], context)

    def _all(self, kind: Collection, store: str, names: list[str]) -> list[str]:
        """Return these names with projects by number, each that of a resource of this store."""
        full_names = [number_project(name) for name in names]
        for name in full_names:
            require(
                name.startswith(f"{store}/{kind.noun}/"),
                f"{name!r} is not the name of one of the {kind.noun} of {store}",
            )
            kind.get(name)
        return full_names

    # ---- contexts ---------------------------------------------------------------------------
    def add_members(self, context: str, body: Json) -> Json:
        """addContextArtifactsAndExecutions."""
        request = parse_message(AddContextArtifactsAndExecutionsRequest, body)
        store = _store(context)
        with self.records.transaction():
            self.contexts.get(context)
            names = self._all(self.artifacts, store, request.get("artifacts", []))
            names += self._all(self.executions, store, request.get("executions", []))
            for name in names:
                self.records.put(MEMBERS, f"{context} {name}", {"member": name})
        return {}

    def add_children(self, context: str, body: Json) -> Json:
        """addContextChildren: a context may have several parents, but be none of its own."""
        request = parse_message(AddContextChildrenRequest, body)
        with self.records.transaction():
            above = self._with_parents(context)
            for name in self._all(self.contexts, _store(context), request.get("childContexts", [])):
                require(name not in above, f"{name} would be a parent of itself")
                child = self.contexts.get(name)
                parents = child.setdefault("parentContexts", [])
                if context not in parents:
                    # The etag stays: the SDK does not read the child again before its next update.
                    parents.append(context)
                    self.records.put(self.contexts.kind, name, child)
        return {}

    def _with_parents(self, name: str) -> set[str]:
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += self.contexts.get(one).get("parentContexts", [])
        return seen

    def remove_children(self, context: str, body: Json) -> Json:
        """removeContextChildren."""
        request = parse_message(RemoveContextChildrenRequest, body)
        with self.records.transaction():
            self.contexts.get(context)
            for name in self._all(self.contexts, _store(context), request.get("childContexts", [])):
                child = self.contexts.get(name)
                parents = child.get("parentContexts", [])
                require(context in parents, f"{name} is no child of {context}")
                parents.remove(context)
                self.records.put(self.contexts.kind, name, child)
        return {}

    def subgraph(self, context: str) -> Json:
        """queryContextLineageSubgraph: what is in a context, and the events between these."""
        self.contexts.get(context)
        members = [one["member"] for _, one in self.records.list(MEMBERS, f"{context} ")]
        events = [
            event
            for name in members
            for event in self._events_of(name)
            if event["artifact"] in members
        ]
        return self._graph(set(members), events)

    # ---- executions -------------------------------------------------------------------------
    def add_events(self, execution: str, body: Json) -> Json:
        """addExecutionEvents: artifacts that an execution read or made."""
        request = parse_message(AddExecutionEventsRequest, body)
        store = _store(execution)
        with self.records.transaction():
            self.executions.get(execution)
            for event in request.get("events", []):
                kind = event.get("type", "TYPE_UNSPECIFIED")
                require(EVENT.fullmatch(kind), f"events[].type: {kind}; INPUT or OUTPUT")
                (artifact,) = self._all(self.artifacts, store, [event.get("artifact", "")])
                name = f"{execution} {artifact} {kind}"
                if not self.records.get(EVENTS, name):
                    now = timestamp(time.time())
                    more = {"artifact": artifact, "execution": execution, "eventTime": now}
                    self.records.put(EVENTS, name, event | more)
        return {}

    def inputs_and_outputs(self, execution: str) -> Json:
        """queryExecutionInputsAndOutputs."""
        self.executions.get(execution)
        events = self._events_of(execution)
        return self._graph({execution, *(event["artifact"] for event in events)}, events)

    def _events_of(self, execution: str) -> list[Json]:
        return [event for _, event in self.records.list(EVENTS, f"{execution} ")]

    # ---- artifacts --------------------------------------------------------------------------
    def lineage(self, artifact: str, query: dict[str, str]) -> Json:
        """queryArtifactLineageSubgraph: all that is connected to it, within so many events."""
        if query.get("filter"):
            raise ApiError(
                "UNIMPLEMENTED", "not implemented in the local cloud: a filter of a lineage"
            )
        hops = whole(query.get("maxHops", "") or str(MOST_HOPS))
        require(hops is not None, "max_hops: a number from 0 is needed")
        self.artifacts.get(artifact)
        every = [event for _, event in self.records.list(EVENTS, f"{_store(artifact)}/")]
        seen, events = {artifact}, list[Json]()
        for _ in range(min(hops or 0, MOST_HOPS)):
            more = [
                event
                for event in every
                if event not in events and seen & {event["artifact"], event["execution"]}
            ]
            if not more:
                break
            events += more
            seen.update(event[end] for event in more for end in ("artifact", "execution"))
        return self._graph(seen, events)

    def _graph(self, names: set[str], events: list[Json]) -> Json:
        """Return the resources of these names, those that are still there, and the events."""
        graph: dict[str, Any] = {}
        for kind in (self.artifacts, self.executions):
            own = (self.records.get(kind.kind, name) for name in sorted(names))
            graph[kind.noun] = [document for document in own if document]
        there = {one["name"] for listed in graph.values() for one in listed}
        graph["events"] = [
            event for event in events if {event["artifact"], event["execution"]} <= there
        ]
        return graph

    # ---- for jobs ---------------------------------------------------------------------------
    def context(self, name: str) -> Json:
        """Return a context by the name that a client sent, or NOT_FOUND."""
        document = self.records.get(self.contexts.kind, number_project(name))
        if document is None:
            raise not_found(name)
        return document


def _store(name: str) -> str:
    """`projects/NUMBER/locations/LOCATION/metadataStores/STORE` of what is in it."""
    return "/".join(name.split("/")[:6])
