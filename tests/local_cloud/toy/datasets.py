"""A Vertex AI resource that the local cloud does not have: datasets, as plain documents."""

from __future__ import annotations

from google.cloud.aiplatform_v1.types import Dataset

from local_cloud.vertex.collection import Collection
from local_cloud.vertex.parts import Parts
from local_cloud.vertex.resource import Call, Method, Resource
from local_cloud.vertex.schema import Json


def resources(parts: Parts) -> list[Resource]:
    kind = Collection(parts.platform.records, "datasets", Dataset)

    async def search(call: Call) -> Json:
        return {"dataItemViews": [], "name": kind.get(call.name)["name"]}

    methods: dict[str, Method] = {"GET *:searchDataItems": search}
    return [Resource.of(kind, methods=methods, long_running=("create", "delete"))]
