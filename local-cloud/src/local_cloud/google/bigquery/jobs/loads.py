"""Load jobs: files of CSV, JSON and Parquet become rows of a table."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from local_cloud.google.bigquery.api.errors import Problem, invalid
from local_cloud.google.bigquery.api.types import check_schema
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document
from local_cloud.google.bigquery.catalog.names import target_of
from local_cloud.google.bigquery.catalog.outcome import Cursor, Outcome
from local_cloud.google.bigquery.catalog.writing import Writer
from local_cloud.google.bigquery.duckdb.foreign_errors import unreadable
from local_cloud.google.bigquery.jobs import load_settings
from local_cloud.google.bigquery.jobs.query_files import read_files
from local_cloud.google.rest import inner
from local_cloud.store.errors import NoSuchBucket, NoSuchObject
from local_cloud.store.objects import Objects
from local_cloud.store.wildcards import matches

MORE = ("timePartitioning", "clustering", "rangePartitioning")


class Loads:
    """What runs load jobs."""

    def __init__(self, writer: Writer, catalog: Catalog, objects: Objects) -> None:
        """Read from these buckets."""
        self._writer, self._catalog, self._objects = writer, catalog, objects

    def run(self, cursor: Cursor, document: Document) -> Outcome:
        """Load what the configuration's URIs name."""
        uris = document["configuration"]["load"].get("sourceUris") or []
        if not uris:
            raise invalid("Load configuration must specify at least one source URI")
        with self._stage(uris) as files:
            return self.load(cursor, document, files)

    def load(self, cursor: Cursor, document: Document, files: list[Path]) -> Outcome:
        """Load these files."""
        settings = document["configuration"]["load"]
        load_settings.check(document["configuration"])
        project = document["jobReference"]["projectId"]
        target = target_of(project, inner(settings, "destinationTable"))
        fields = check_schema(inner(settings, "schema").get("fields") or [])
        write = str(settings.get("writeDisposition") or "WRITE_APPEND")
        existing = self._catalog.find(target)
        if not fields and write == "WRITE_APPEND" and existing and not settings.get("autodetect"):
            fields = existing["schema"]["fields"]
        self._objects.space.take(sum(file.stat().st_size for file in files))
        more = {key: settings[key] for key in MORE if settings.get(key)}
        if existing is None:  # they are of a new table only
            more |= inner(settings, "destinationTableProperties")
        fields = cursor.run(read_files, settings, files, fields)
        create = str(settings.get("createDisposition") or "CREATE_IF_NEEDED")
        try:
            count = self._writer.place(
                cursor, target, fields, write=write, create=create, more=more
            )
        except duckdb.ConstraintException as problem:
            raise unreadable(problem) from None
        size = sum(file.stat().st_size for file in files)
        statistics = {"inputFiles": str(len(files)), "inputFileBytes": str(size)}
        return Outcome(statistics | {"outputRows": str(count), "outputBytes": str(size)}, target)

    @contextlib.contextmanager
    def _stage(self, uris: list[Any]) -> Iterator[list[Path]]:
        """Yield links to the objects' files, under names in which DuckDB sees no pattern."""
        with tempfile.TemporaryDirectory(prefix="bigquery-") as folder:
            links: list[Path] = []
            for uri in uris:
                paths = list(self._paths(str(uri)))
                if not paths:
                    raise Problem(404, "notFound", f"Not found: URI {uri}")
                for path in paths:
                    links.append(Path(folder) / f"{len(links)}")
                    links[-1].symlink_to(path)
            yield links

    def _paths(self, uri: str) -> Iterator[Path]:
        scheme, _, rest = uri.partition("://")
        bucket, _, name = rest.partition("/")
        if scheme != "gs" or not name:
            raise invalid(f"Source URI must be a Google Cloud Storage location: {uri}")
        if name.count("*") > 1:
            raise invalid(f"Source URI has more than one wildcard: {uri}")
        if "*" not in name:
            try:
                yield self._objects.get(bucket, name).path
            except (NoSuchBucket, NoSuchObject):
                return
            return
        for one in self._objects.list(bucket, name.partition("*")[0]):
            if matches(one.name, name) and not one.name.endswith("/"):
                yield one.path
