"""Extract jobs: a table's rows become objects; copy jobs: tables become a table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from local_cloud.google.bigquery.api.errors import invalid, not_implemented
from local_cloud.google.bigquery.api.types import Field, quote
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, Name
from local_cloud.google.bigquery.catalog.names import reference_of, target_of
from local_cloud.google.bigquery.catalog.outcome import Cursor, Outcome
from local_cloud.google.bigquery.catalog.writing import Writer
from local_cloud.google.bigquery.jobs.query_files import write_file
from local_cloud.google.rest import inner, inners
from local_cloud.store.objects import Objects

NAMES = {"CSV": "csv", "NEWLINE_DELIMITED_JSON": "json", "PARQUET": "parquet"}
COMPRESSIONS = {"NONE", "GZIP"}


class Extracts:
    """What runs extract and copy jobs."""

    def __init__(self, writer: Writer, catalog: Catalog, objects: Objects) -> None:
        """Write to these buckets."""
        self._writer, self._catalog, self._objects = writer, catalog, objects

    def run(self, cursor: Cursor, document: Document) -> Outcome:
        """Write the table's rows where the configuration says."""
        settings = document["configuration"]["extract"]
        if settings.get("sourceModel"):
            raise not_implemented("extract jobs of models")
        project = document["jobReference"]["projectId"]
        source = reference_of(project, inner(settings, "sourceTable"))
        uris = settings.get("destinationUris") or [settings.get("destinationUri")]
        with self._file() as file:
            self._write(cursor, source, settings, file=file)
            counts = [self._put(str(uri), file) for uri in uris[:1]]
        statistics = {"destinationUriFileCounts": [str(count) for count in counts]}
        return Outcome(statistics)

    def write_csv(self, uri: str, file: Path) -> None:
        """Write the rows of bq://PROJECT.DATASET.TABLE below a header (Platform.tables)."""
        parts = uri.removeprefix("bq://").split(".")
        if len(parts) != 3 or not all(parts):
            raise invalid(f"{uri!r} is not a bq://PROJECT.DATASET.TABLE URI")
        with self._catalog.database.cursor() as cursor:
            self._write(cursor, Name(*parts), {}, file=file)

    def _write(self, cursor: Cursor, source: Name, settings: Document, *, file: Path) -> None:
        fields = self._fields(source, "extracted")
        kind = str(settings.get("destinationFormat") or "CSV")
        compression = str(settings.get("compression") or "NONE")
        if kind not in NAMES or compression not in (
            COMPRESSIONS if kind != "PARQUET" else {"NONE", "GZIP", "SNAPPY", "ZSTD"}
        ):
            raise not_implemented(f"extract jobs of {kind} with compression {compression}")
        nested = [one for one in fields if one["type"] == "RECORD" or one["mode"] == "REPEATED"]
        if kind == "CSV" and nested:
            raise invalid("Operation cannot be performed on a nested schema: CSV has flat rows")
        columns = ", ".join(_column(one, kind) for one in fields)
        said = _options(kind, compression, settings)
        sql = f"SELECT {columns} FROM {source.sql_name}"
        cursor.run(write_file, sql, file, said)

    def _fields(self, source: Name, use: str) -> list[Field]:
        item = self._catalog.get(source)
        if item["type"] != "TABLE":
            raise invalid(f"{source} is a {item['type']}: only a table can be {use}")
        fields: list[Field] = item["schema"]["fields"]
        return fields

    @contextlib.contextmanager
    def _file(self) -> Iterator[Path]:
        path = self._objects.upload_file()
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _put(self, uri: str, file: Path) -> int:
        scheme, _, rest = uri.partition("://")
        bucket, _, name = rest.partition("/")
        if scheme != "gs" or not name:
            raise invalid(f"Destination URI must be a Google Cloud Storage location: {uri}")
        if name.count("*") > 1:
            raise invalid(f"Destination URI has more than one wildcard: {uri}")
        self._objects.put(bucket, name.replace("*", "0" * 12), file)
        return 1

    def copy(self, cursor: Cursor, document: Document) -> Outcome:
        """Put the rows of the configuration's tables into one."""
        settings = document["configuration"]["copy"]
        if str(settings.get("operationType") or "COPY") != "COPY":
            raise not_implemented(f"copy jobs with operationType {settings['operationType']}")
        project = document["jobReference"]["projectId"]
        given = inners(settings, "sourceTables") or [inner(settings, "sourceTable")]
        sources = [reference_of(project, one) for one in given]
        schemas = [self._fields(source, "copied") for source in sources]
        if any(_types(one) != _types(schemas[0]) for one in schemas):
            raise invalid("The tables of a copy job need the same schema")
        sql = " UNION ALL ".join(f"SELECT * FROM {source.sql_name}" for source in sources)
        count = self._writer.fill(
            cursor,
            target_of(project, inner(settings, "destinationTable")),
            sql,
            write=str(settings.get("writeDisposition") or "WRITE_EMPTY"),
            create=str(settings.get("createDisposition") or "CREATE_IF_NEEDED"),
            schema=schemas[0],
        )
        return Outcome({"copiedRows": str(count)})


def _types(fields: list[Field]) -> list[tuple[str, str, str]]:
    return [(one["name"].lower(), one["type"], one["mode"]) for one in fields]


def _options(kind: str, compression: str, settings: Document) -> list[str]:
    said = [f"FORMAT {NAMES[kind]}"]
    if kind == "PARQUET":
        return [*said, f"COMPRESSION {'UNCOMPRESSED' if compression == 'NONE' else compression}"]
    said.append(f"COMPRESSION {compression}")
    if kind == "CSV":
        delimiter = str(settings.get("fieldDelimiter") or ",").replace("\\t", "\t")
        delimiter = "\t" if delimiter.lower() == "tab" else delimiter
        if len(delimiter) != 1:
            raise invalid(f"Invalid value for fieldDelimiter: {delimiter!r}")
        header = "false" if settings.get("printHeader") is False else "true"
        escaped = delimiter.replace("'", "''")
        said += [f"HEADER {header}", f"DELIMITER '{escaped}'"]
    return said


def _column(field: Field, kind: str) -> str:
    column = quote(field["name"])
    if kind == "PARQUET" or field["mode"] == "REPEATED":
        return column
    match field["type"]:
        case "BYTES":
            return f"base64({column}) AS {column}"
        case "TIMESTAMP":
            return f"strftime({column}, '%Y-%m-%d %H:%M:%S.%g UTC') AS {column}"
        case "INTEGER" if kind != "CSV":  # as the service does: JSON's numbers have 53 bits
            return f"CAST({column} AS VARCHAR) AS {column}"
    return column
