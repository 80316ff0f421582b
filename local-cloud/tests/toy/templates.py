"""A Vertex AI resource that the local cloud does not have: templates of notebooks, as documents."""

from __future__ import annotations

from google.cloud.aiplatform_v1.types import NotebookRuntimeTemplate

from local_cloud.google.vertex.parts import Parts
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.resource import Call, Method, Resource
from local_cloud.json_types import Json


def resources(parts: Parts) -> list[Resource]:
    kind = Collection(parts.platform.records, "notebookRuntimeTemplates", NotebookRuntimeTemplate)

    async def describe(call: Call) -> Json:
        return {"words": [], "name": kind.get(call.name)["name"]}

    methods: dict[str, Method] = {"GET *:describe": describe}
    return [Resource.of(kind, methods=methods, long_running=("create", "delete"))]
