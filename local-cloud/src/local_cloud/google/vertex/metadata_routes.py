"""The resources of MetadataService, declared: the stores, and what is in them."""

from __future__ import annotations

from local_cloud.google.vertex.parts import Parts
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.resource import (
    Call,
    Method,
    Resource,
    id_in_query,
    render_list,
)
from local_cloud.google.vertex.tracking.metadata import Metadata
from local_cloud.json_types import Json


def resources(parts: Parts) -> list[Resource]:
    """Return the stores, and the three kinds of resources in them."""
    metadata = parts.metadata
    links = _links(metadata)
    return [
        Resource.of(
            metadata.stores,
            methods={
                "create": lambda call: metadata.create_store(
                    call.parent, call.body, id_in_query(metadata.stores, call)
                ),
                "delete": lambda call: metadata.delete_store(call.name),
            },
            without=("patch",),
            long_running=("create", "delete"),
        ),
        *(
            Resource.of(kind, "metadataStores/*", methods=_own(metadata, kind) | links[kind.noun])
            for kind in (metadata.contexts, metadata.executions, metadata.artifacts)
        ),
    ]


def _own(metadata: Metadata, kind: Collection) -> dict[str, Method]:
    """Return what contexts, executions and artifacts do in their own way, all alike."""

    def create(call: Call) -> Json:
        return metadata.create(kind, call.parent, call.body, chosen=id_in_query(kind, call))

    def list_all(call: Call) -> Json:
        return render_list(kind, metadata.page(kind, call.parent, call.page))

    def delete(call: Call) -> None:
        metadata.delete(kind, call.name, call.query.get("etag", ""))

    return {"create": create, "list": list_all, "delete": delete}


def _links(metadata: Metadata) -> dict[str, dict[str, Method]]:
    """Return what connects contexts, executions and artifacts, by collection."""
    return {
        "contexts": {
            "POST *:addContextArtifactsAndExecutions": (
                lambda call: metadata.add_members(call.name, call.body)
            ),
            "POST *:addContextChildren": lambda call: metadata.add_children(call.name, call.body),
            "POST *:removeContextChildren": (
                lambda call: metadata.remove_children(call.name, call.body)
            ),
            "GET *:queryContextLineageSubgraph": lambda call: metadata.subgraph(call.name),
        },
        "executions": {
            "POST *:addExecutionEvents": lambda call: metadata.add_events(call.name, call.body),
            "GET *:queryExecutionInputsAndOutputs": (
                lambda call: metadata.inputs_and_outputs(call.name)
            ),
        },
        "artifacts": {
            "GET *:queryArtifactLineageSubgraph": (
                lambda call: metadata.lineage(call.name, dict(call.query))
            ),
        },
    }
