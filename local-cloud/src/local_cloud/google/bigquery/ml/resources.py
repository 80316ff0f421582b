"""Handlers of …/models: reference/rest/v2/models."""

from __future__ import annotations

from local_cloud.google.bigquery.api.errors import LOCATION
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, Name, now
from local_cloud.google.bigquery.ml import statements
from local_cloud.google.bigquery.ml.store import Models
from local_cloud.google.bigquery.tables.call import page_of
from local_cloud.google.bigquery.tables.datasets import check_etag, etag, merge
from local_cloud.google.rest import Call

SETTABLE = ("friendlyName", "description", "labels", "expirationTime")
SHORT = ("modelType", "creationTime", "lastModifiedTime", "labels", "friendlyName")


class ModelResources:
    """Models as resources."""

    def __init__(self, catalog: Catalog, models: Models) -> None:
        """Serve the datasets of this catalog."""
        self._catalog, self._models = catalog, models

    def get(self, call: Call) -> Document:
        """GET …/models/{model}"""
        name = _name(call)
        return _resource(name, statements.get(self._catalog, name))

    def list(self, call: Call) -> Document:
        """GET …/models"""
        project, dataset = call.path("project"), call.path("dataset")
        self._catalog.dataset(project, dataset)
        models = [
            {key: value for key, value in document.items() if key in SHORT} | _reference(name)
            for name, document in self._catalog.items(project, dataset)
            if document["type"] == statements.KIND
        ]
        chosen, more = page_of(models, call)
        return {"models": chosen} | more

    def patch(self, call: Call) -> Document:
        """PATCH …/models/{model}"""
        name = _name(call)
        with self._catalog.database.transaction() as cursor:
            model = statements.get(self._catalog, name)
            check_etag(call, model)
            changes = {key: call.body[key] for key in SETTABLE if key in call.body}
            changed = merge(model, changes) | {"lastModifiedTime": now()}
            self._catalog.put(cursor, name, changed)
        return _resource(name, changed)

    def delete(self, call: Call) -> None:
        """DELETE …/models/{model}"""
        statements.drop(self._catalog, self._models, _name(call))


def _name(call: Call) -> Name:
    return Name(call.path("project"), call.path("dataset"), call.path("model"))


def _reference(name: Name) -> Document:
    project, dataset, model = name.project, name.dataset, name.table
    return {"modelReference": {"projectId": project, "datasetId": dataset, "modelId": model}}


def _resource(name: Name, document: Document) -> Document:
    hidden = ("type", "folder")
    kept = {key: value for key, value in document.items() if key not in hidden}
    return kept | _reference(name) | {"etag": etag(document), "location": LOCATION}
