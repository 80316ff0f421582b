"""Handlers of …/datasets."""

from __future__ import annotations

import hashlib
import json

from local_cloud.google.bigquery.api.errors import LOCATION, Problem, invalid, missing_parameter
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, now
from local_cloud.google.bigquery.catalog.names import check_dataset_id
from local_cloud.google.bigquery.tables.call import page_of
from local_cloud.google.rest import Call

# What a client may set; of these the access entries are kept, and have no effect.
SETTABLE = (
    "friendlyName",
    "description",
    "labels",
    "access",
    "location",
    "defaultTableExpirationMs",
    "defaultPartitionExpirationMs",
    "isCaseInsensitive",
    "maxTimeTravelHours",
    "storageBillingModel",
    "defaultCollation",
    "defaultRoundingMode",
)


class Datasets:
    """Datasets of the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        """Serve the datasets of this catalog."""
        self._catalog = catalog

    def insert(self, call: Call) -> Document:
        """POST …/datasets"""
        project = call.path("project")
        name = str((call.body.get("datasetReference") or {}).get("datasetId") or "")
        if not name:
            raise missing_parameter("datasetReference.datasetId")
        check_dataset_id(name)
        at = now()
        document = {"location": LOCATION} | _settings(call.body)
        document |= {"creationTime": at, "lastModifiedTime": at}
        self._catalog.put_dataset(project, name, document, new=True)
        return resource(project, name, document)

    def get(self, call: Call) -> Document:
        """GET …/datasets/{dataset}"""
        project, name = call.path("project"), call.path("dataset")
        return resource(project, name, self._catalog.dataset(project, name))

    def list(self, call: Call) -> Document:
        """GET …/datasets"""
        project = call.path("project")
        wanted = _labels(call.query.get("filter", ""))
        datasets = [
            _short(project, name, document)
            for name, document in self._catalog.datasets(project)
            if (call.flag("all") or not name.startswith("_"))
            and all(_has(document, label, value) for label, value in wanted)
        ]
        chosen, more = page_of(datasets, call)
        return {"kind": "bigquery#datasetList", "datasets": chosen} | more

    def patch(self, call: Call) -> Document:
        """PATCH …/datasets/{dataset}"""
        project, name = call.path("project"), call.path("dataset")
        dataset = self._catalog.dataset(project, name)
        check_etag(call, dataset)
        changed = merge(dataset, _settings(call.body)) | {"lastModifiedTime": now()}
        self._catalog.put_dataset(project, name, changed, new=False)
        return resource(project, name, changed)

    def update(self, call: Call) -> Document:
        """PUT …/datasets/{dataset}"""
        project, name = call.path("project"), call.path("dataset")
        dataset = self._catalog.dataset(project, name)
        kept = {key: dataset[key] for key in ("location", "creationTime")}
        changed = kept | _settings(call.body) | {"lastModifiedTime": now()}
        self._catalog.put_dataset(project, name, changed, new=False)
        return resource(project, name, changed)

    def delete(self, call: Call) -> None:
        """DELETE …/datasets/{dataset}"""
        project, name = call.path("project"), call.path("dataset")
        self._catalog.dataset(project, name)
        if not call.flag("deleteContents") and self._catalog.items(project, name):
            raise Problem(400, "resourceInUse", f"Dataset {project}:{name} is still in use")
        self._catalog.delete_dataset(project, name)


def check_etag(call: Call, current: Document) -> None:
    """Raise Problem if the client changes another state than the one that there is."""
    wanted = call.request.headers.get("if-match")
    if wanted and wanted != etag(current):
        raise Problem(412, "conditionNotMet", "Precondition check failed.")


def etag(document: Document) -> str:
    """Return a word for what a client may have changed; new rows of a table are no such change."""
    kept = {key: value for key, value in document.items() if key != "lastModifiedTime"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def merge(current: Document, changes: Document) -> Document:
    """Merge a patch: what is null goes, labels are merged."""
    labels = (current.get("labels") or {}) | (changes.get("labels") or {})
    changed = {key: value for key, value in (current | changes).items() if value is not None}
    if labels:
        changed["labels"] = {key: value for key, value in labels.items() if value is not None}
    return changed


def _settings(body: Document) -> Document:
    settings = {key: body[key] for key in SETTABLE if key in body}
    if not isinstance(settings.get("labels") or {}, dict):
        raise invalid("Invalid value for labels: an object is needed")
    if "location" in settings:
        settings["location"] = str(settings["location"] or LOCATION)
    return settings


def _labels(text: str) -> list[tuple[str, str]]:
    """Return the conditions of a filter: labels.name:value, labels.name."""
    conditions = []
    for word in text.split():
        if not word.startswith("labels."):
            raise invalid(f"Invalid filter: {word!r}")
        name, _, value = word.removeprefix("labels.").partition(":")
        conditions.append((name, value))
    return conditions


def _has(document: Document, label: str, value: str) -> bool:
    labels = document.get("labels") or {}
    return label in labels and (not value or labels[label] == value)


def resource(project: str, name: str, document: Document) -> Document:
    """Return the API's resource."""
    return {
        "kind": "bigquery#dataset",
        "etag": etag(document),
        "id": f"{project}:{name}",
        "datasetReference": {"projectId": project, "datasetId": name},
        "type": "DEFAULT",
        "access": document.get("access") or [{"role": "OWNER", "specialGroup": "projectOwners"}],
    } | {key: value for key, value in document.items() if key != "access"}


def _short(project: str, name: str, document: Document) -> Document:
    whole = resource(project, name, document)
    kept = ("id", "datasetReference", "labels", "friendlyName", "location", "type")
    return {"kind": "bigquery#dataset"} | {key: whole[key] for key in kept if key in whole}
