"""The pictures of a dataset: imported from lists in buckets, listed, and exported as a list.

An item's document has its classes as `classes`; annotations and their specs are told from these.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

from local_cloud.engine.spec import EngineError
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.datasets import import_lists
from local_cloud.google.vertex.endpoints import batch_files
from local_cloud.google.vertex.resources.request import GS_URI
from local_cloud.google.vertex.resources.schema import require, timestamp
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records

KIND = "vertex-dataItems"
FORMATS = "gs://google-cloud-aiplatform/schema/dataset/ioformat/image_classification_"
SINGLE = f"{FORMATS}single_label_io_format_1.0.0.yaml"
MULTI = f"{FORMATS}multi_label_io_format_1.0.0.yaml"
MOST = 20_000  # pictures of a dataset


class DataItems:
    """Documents `…/datasets/ID/dataItems/ID`."""

    def __init__(self, records: Records, objects: Objects) -> None:
        """objects: the buckets with the lists and the pictures."""
        self.records = records
        self.objects = objects

    def import_data(self, dataset: str, configs: list[Json]) -> int:
        """Add what the lists name, all or, if a line is wrong, nothing; returns how many there are.

        A picture that is there already gets the new classes too, of one label the new one instead.
        """
        require(configs, "importConfigs: at least one is needed")
        documents: dict[str, Json] = {}
        for config in configs:
            schema = config.get("importSchemaUri", "")
            if schema not in (SINGLE, MULTI):
                raise ApiError(
                    "UNIMPLEMENTED",
                    f"not implemented in the local cloud: the import schema {schema!r}; there are"
                    " those of image classification",
                )
            for item in self._read(config, single=schema == SINGLE):
                self._merge(dataset, documents, item, single=schema == SINGLE)
                require(
                    len(documents) <= MOST, f"{dataset}: at most {MOST:,} pictures are possible"
                )
        with self.records.transaction():
            for name, document in documents.items():
                self.records.put(KIND, name, document)
            total = sum(1 for _ in self.records.list(KIND, f"{dataset}/dataItems/"))
            require(total <= MOST, f"{dataset}: {total:,} pictures; the maximum here is {MOST:,}")
        return total

    def _merge(self, dataset: str, documents: dict[str, Json], item: Json, *, single: bool) -> None:
        name = f"{dataset}/dataItems/{_id(item['uri'])}"
        now = timestamp(time.time())
        old = (
            documents.get(name)
            or self.records.get(KIND, name)
            or {"createTime": now, "classes": []}
        )
        labels = old.get("labels", {}) | item["labels"]
        classes = item["classes"] if single else [*old["classes"], *item["classes"]]
        documents[name] = {
            "name": name,
            "createTime": old["createTime"],
            "updateTime": now,
            "labels": labels,
            "payload": {"imageGcsUri": item["uri"]},
            "classes": list(dict.fromkeys(classes)),
        }

    def _read(self, config: Json, *, single: bool) -> Iterator[Json]:
        """Yield the lines of an import's lists: uri, classes and labels of each."""
        common = config.get("dataItemLabels", {})
        for uri in config.get("gcsSource", {}).get("uris", []):
            require(GS_URI.match(uri), f"{uri!r} does not begin with gs://BUCKET")
            try:
                paths = batch_files.sources(self.objects, [uri])
            except (StoreError, EngineError) as problem:
                raise ApiError("INVALID_ARGUMENT", f"{uri}: {problem}") from None
            for path in paths:
                for number, item in import_lists.lines(path, uri):
                    where = f"{uri}, line {number}"
                    self._check(item, where, single=single)
                    yield item | {"labels": common | item["labels"]}

    def _check(self, item: Json, where: str, *, single: bool) -> None:
        require(GS_URI.match(item["uri"]), f"{where}: {item['uri']!r} is not gs://BUCKET/NAME")
        count = len(item["classes"])
        require(not single or count <= 1, f"{where}: {count} labels; one label at most is allowed")
        bucket, _, name = item["uri"].removeprefix("gs://").partition("/")
        try:
            self.objects.get(bucket, name)
        except StoreError as problem:
            raise ApiError("INVALID_ARGUMENT", f"{where}: {problem}") from None

    def all(self, dataset: str) -> list[Json]:
        """Return the documents of a dataset's items."""
        return [document for _, document in self.records.list(KIND, f"{dataset}/dataItems/")]

    def write(self, dataset: str, path: Path) -> None:
        """Write the list that automl.train_images reads: the pictures that have a class."""
        with path.open("w", encoding="utf-8") as file:
            for item in self.all(dataset):
                if not item["classes"]:
                    continue
                uri = item["payload"]["imageGcsUri"]
                bucket, _, name = uri.removeprefix("gs://").partition("/")
                try:
                    own = self.objects.get(bucket, name).path
                except StoreError as problem:
                    raise EngineError(f"{uri}: {problem}") from None
                line = {"file": str(own), "uri": uri, "labels": item["classes"]}
                file.write(
                    json.dumps(line | {"use": item["labels"].get(import_lists.USE, "")}) + "\n"
                )

    def export(self, dataset: Json, prefix: str) -> list[str]:
        """Write the list of a dataset's pictures to a bucket; returns the URIs of the files."""
        require(GS_URI.match(prefix), f"{prefix!r} does not begin with gs://BUCKET")
        lines = [json.dumps(line(item)) for item in self.all(dataset["name"])]
        stamp = timestamp(time.time())
        folder = f"export-data-{dataset.get('displayName', '')}-{stamp}/image_classification"
        bucket, _, start = f"{prefix.rstrip('/')}/{folder}".removeprefix("gs://").partition("/")
        name = f"{start}/data-00001-of-00001.jsonl"
        file = self.objects.upload_file()
        try:
            with self.objects.space.open(file) as body:
                body.write("".join(f"{line}\n" for line in lines).encode())
            self.objects.put(bucket, name, file)
        except StoreError as problem:
            raise ApiError("INVALID_ARGUMENT", f"{prefix}: {problem}") from None
        finally:
            file.unlink(missing_ok=True)
        return [f"gs://{bucket}/{name}"]


def render(document: Json) -> Json:
    """Return an item as the service tells it."""
    return {name: value for name, value in document.items() if name != "classes"}


def annotations_of(document: Json) -> list[Json]:
    """Return the annotations of an item: one for each of its classes."""
    dataset = document["name"].rsplit("/", 2)[0]
    return [
        {
            "name": f"{document['name']}/annotations/{_id(label)}",
            "payloadSchemaUri": "gs://google-cloud-aiplatform/schema/dataset/annotation/"
            "image_classification_1.0.0.yaml",
            "payload": {"displayName": label, "annotationSpecId": spec_id(dataset, label)},
            "createTime": document["createTime"],
            "updateTime": document["updateTime"],
        }
        for label in document["classes"]
    ]


def spec_id(dataset: str, label: str) -> str:
    """Return the id of a class's AnnotationSpec."""
    return _id(f"{dataset}/{label}")


def _id(text: str) -> str:
    """Return a numeric id that a text always has."""
    return str(10**18 + int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big"))


def line(item: Json) -> Json:
    """Return an item as a line of an import's list."""
    marks = [{"displayName": label} for label in item["classes"]]
    one = len(marks) == 1
    return {
        "imageGcsUri": item["payload"]["imageGcsUri"],
        **({"classificationAnnotation": marks[0]} if one else {"classificationAnnotations": marks}),
        "dataItemResourceLabels": item["labels"],
    }
