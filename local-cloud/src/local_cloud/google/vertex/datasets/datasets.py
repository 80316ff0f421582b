"""Managed datasets: tables, which are CSV files in buckets, and pictures, imported by lists.

Sources: types/dataset.py of google.cloud.aiplatform_v1, and datasets/ of the SDK.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from google.cloud.aiplatform_v1.types import Dataset, ExportDataRequest, ImportDataRequest

from local_cloud.engine.spec import EngineError
from local_cloud.errors import LocalCloudError
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.datasets import data_items
from local_cloud.google.vertex.datasets.data_items import DataItems
from local_cloud.google.vertex.endpoints import batch_files
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.request import GS_URI
from local_cloud.google.vertex.resources.schema import parse_message, require, require_fields
from local_cloud.json_types import Json
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records

SCHEMAS = "gs://google-cloud-aiplatform/schema/dataset/metadata/"
TABLES = f"{SCHEMAS}tabular_1.0.0.yaml"
PICTURES = f"{SCHEMAS}image_1.0.0.yaml"
BQ_URI = re.compile(r"bq://[^./\s]+\.[^./\s]+\.[^./\s]+")


class Datasets(Collection):
    """The datasets of the service."""

    def __init__(
        self, records: Records, objects: Objects, tables: Mapping[str, Callable[[str, Path], None]]
    ) -> None:
        """objects: the buckets with what the datasets consist of; tables: Platform.tables."""
        super().__init__(records, "datasets", Dataset, fixed=("metadataSchemaUri",))
        self.objects, self._tables = objects, tables
        self.items = DataItems(records, objects)

    def create(self, parent: str, body: Json, chosen: str = "", **more: Any) -> Json:
        """Create a dataset; the files of a table are looked for when it is used."""
        sent = parse_message(Dataset, body, "dataset")
        require_fields(Dataset, sent, "dataset")
        schema = sent["metadataSchemaUri"]
        if schema not in (TABLES, PICTURES):
            raise ApiError(
                "UNIMPLEMENTED",
                "not implemented in the local cloud: datasets of"
                f" {schema.removeprefix(SCHEMAS).split('_1.')[0]} ({schema}); there are tables and"
                " images",
            )
        if schema == TABLES:
            _check_sources(sent.get("metadata"))
        return super().create(parent, body, chosen, **more)

    def delete(self, name: str, etag: str = "") -> None:
        """Delete a dataset with its items; the files that it names stay in their buckets."""
        with self.records.transaction():
            super().delete(name, etag)
            self.records.delete_below(data_items.KIND, f"{name}/")

    def import_data(self, name: str, body: Json) -> Json:
        """:import, answered with an operation that has ended: add pictures."""
        dataset, request = self.get(name), parse_message(ImportDataRequest, body | {"name": name})
        require(
            dataset["metadataSchemaUri"] == PICTURES, f"{name} is a table: it is what its files are"
        )
        with self.records.transaction():
            total = self.items.import_data(name, request.get("importConfigs", []))
            self.records.put(self.kind, name, self.get(name) | {"dataItemCount": str(total)})
            response = {"@type": f"{documents.TYPES}ImportDataResponse"}
            return documents.record_operation(
                self.records, name, response, metadata="ImportDataOperationMetadata"
            )

    def export_data(self, name: str, body: Json) -> Json:
        """:export, answered with an operation that has ended: write the list of the pictures."""
        dataset, request = self.get(name), parse_message(ExportDataRequest, body | {"name": name})
        config = request.get("exportConfig", {})
        prefix = config.pop("gcsDestination", {}).get("outputUriPrefix", "")
        if dataset["metadataSchemaUri"] != PICTURES or config:
            what = ", ".join(config) or "of a table, which is its own files"
            raise ApiError("UNIMPLEMENTED", f"not implemented in the local cloud: exports, {what}")
        response = {
            "@type": f"{documents.TYPES}ExportDataResponse",
            "exportedFiles": self.items.export(dataset, prefix),
        }
        return documents.record_operation(
            self.records, name, response, metadata="ExportDataOperationMetadata"
        )

    def tables(self, dataset: Json, folder: Path) -> list[Path]:
        """Return the CSV files of a table; EngineError where there are none.

        folder: where one is made of a table of BigQuery.
        """
        source = dataset["metadata"]["inputConfig"]
        try:
            if "bigquerySource" in source:
                made = folder / "table.csv"
                self._tables["bq"](source["bigquerySource"]["uri"], made)
                return [made]
            return batch_files.sources(self.objects, sorted(source["gcsSource"]["uri"]))
        except LocalCloudError as problem:
            raise EngineError(f"The dataset {dataset['name']}: {problem}") from None


def _check_sources(metadata: Any) -> None:
    """Refuse a table that is neither one of BigQuery's nor in CSV files of buckets."""
    source = metadata.get("inputConfig") if isinstance(metadata, Mapping) else None
    if not isinstance(source, Mapping):
        source = {}
    if "bigquerySource" in source:
        table = source["bigquerySource"]
        uri = table.get("uri", "") if isinstance(table, Mapping) else ""
        known = isinstance(uri, str) and BQ_URI.fullmatch(uri)
        require(known, f"{uri!r} is not a bq://PROJECT.DATASET.TABLE URI")
        return
    given = source.get("gcsSource")
    uris = given.get("uri") if isinstance(given, Mapping) else None
    uris = uris if isinstance(uris, list) else []
    require(
        uris,
        "dataset.metadata.inputConfig.gcsSource.uri: a list of at least one CSV file is needed",
    )
    for uri in uris:
        require(
            isinstance(uri, str) and GS_URI.match(uri), f"{uri!r} does not begin with gs://BUCKET"
        )
