"""The resources of DatasetService, and the evaluations of models that are trained on datasets."""

from __future__ import annotations

from google.cloud.aiplatform_v1.types import Annotation, DataItem

from local_cloud.google.vertex.automl import evaluations
from local_cloud.google.vertex.datasets import data_items
from local_cloud.google.vertex.parts import Parts
from local_cloud.google.vertex.resources import documents as pages
from local_cloud.google.vertex.resources.errors import not_found
from local_cloud.google.vertex.resources.resource import Call, Method, Resource
from local_cloud.json_types import Json


def resources(parts: Parts) -> list[Resource]:
    """Return datasets with their items and annotations, and evaluations."""
    datasets = parts.datasets
    methods: dict[str, Method] = {
        "POST *:import": lambda call: datasets.import_data(call.name, call.body),
        "POST *:export": lambda call: datasets.export_data(call.name, call.body),
    }

    def items(call: Call) -> Json:
        datasets.get(call.parent)
        items, token = pages.page(
            datasets.records,
            call.name,
            query=call.page,
            render=data_items.render,
            kind=data_items.KIND,
        )
        return {"dataItems": items, "nextPageToken": token}

    def annotations(call: Call) -> Json:
        document = datasets.records.get(data_items.KIND, call.parent)
        if document is None:
            raise not_found(call.parent)
        annotations, token = pages.paginate(data_items.annotations_of(document), call.page)
        return {"annotations": annotations, "nextPageToken": token}

    return [
        Resource.of(datasets, methods=methods, long_running=("create", "delete")),
        Resource("datasets/*/dataItems", DataItem, {"list": items}),
        Resource("datasets/*/dataItems/*/annotations", Annotation, {"list": annotations}),
        evaluations.resource(parts.models),
    ]
