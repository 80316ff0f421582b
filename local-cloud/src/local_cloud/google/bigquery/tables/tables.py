"""Handlers of …/tables and …/tables/{table}/data."""

from __future__ import annotations

import re
from typing import Any

import duckdb

from local_cloud.google.bigquery.api.errors import (
    LOCATION,
    Problem,
    duplicate,
    invalid,
    missing_parameter,
    no_such_table,
    not_implemented,
)
from local_cloud.google.bigquery.api.types import Field, check_schema, duckdb_type, quote
from local_cloud.google.bigquery.catalog import rows, sizes
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, Name, now
from local_cloud.google.bigquery.catalog.writing import Writer
from local_cloud.google.bigquery.duckdb.foreign_errors import problem_of
from local_cloud.google.bigquery.sql.ddl import Change
from local_cloud.google.bigquery.sql.resolve import Resolver
from local_cloud.google.bigquery.sql.statements import parse
from local_cloud.google.bigquery.tables.call import page_of
from local_cloud.google.bigquery.tables.datasets import check_etag, etag, merge
from local_cloud.google.rest import Call, inner

_ID = re.compile(r"[\w\- ]{1,1024}")
# What a client may set; it is kept, and has no effect, but for the schema.
SETTABLE = (
    "friendlyName",
    "description",
    "labels",
    "expirationTime",
    "timePartitioning",
    "rangePartitioning",
    "clustering",
    "requirePartitionFilter",
    "defaultCollation",
)
ELSEWHERE = ("externalDataConfiguration", "materializedView", "snapshotDefinition", "model")


class Tables:
    """Tables and views of the catalog."""

    def __init__(self, catalog: Catalog, writer: Writer) -> None:
        """Serve the datasets of this catalog."""
        self._catalog, self._writer = catalog, writer

    def insert(self, call: Call) -> Document:
        """POST …/tables"""
        reference = inner(call.body, "tableReference")
        table = str(reference.get("tableId") or "")
        if not table:
            raise missing_parameter("tableReference.tableId")
        name = Name(call.path("project"), call.path("dataset"), check_id(table))
        for unknown in ELSEWHERE:
            if call.body.get(unknown):
                raise not_implemented(f"{unknown} of a table")
        self._catalog.dataset(name.project, name.dataset)
        fields = check_schema(inner(call.body, "schema").get("fields") or [])
        more = {key: call.body[key] for key in SETTABLE if key in call.body}
        view = self._view(name, call.body["view"]) if call.body.get("view") else None
        with self._catalog.database.transaction() as cursor:
            if self._catalog.find(name):
                raise duplicate("Table", str(name))
            if view:
                document = view | more
                self._catalog.put(cursor, name, document)
            else:
                document = self._catalog.create(cursor, name, fields, more=more)
        return self._resource(name, document)

    def get(self, call: Call) -> Document:
        """GET …/tables/{table}"""
        name = _name(call)
        return self._resource(name, self._table(name))

    def list(self, call: Call) -> Document:
        """GET …/tables"""
        project, dataset = call.path("project"), call.path("dataset")
        self._catalog.dataset(project, dataset)
        tables = [
            _short(name, document)
            for name, document in self._catalog.items(project, dataset)
            if document["type"] != "MODEL"
        ]
        chosen, more = page_of(tables, call)
        answer = {"kind": "bigquery#tableList", "tables": chosen, "totalItems": len(tables)}
        return answer | more

    def patch(self, call: Call) -> Document:
        """PATCH …/tables/{table}"""
        name = _name(call)
        with self._catalog.database.transaction() as cursor:
            table = self._table(name)
            check_etag(call, table)
            changes = {key: call.body[key] for key in SETTABLE if key in call.body}
            changed = merge(table, changes) | {"lastModifiedTime": now()}
            if (schema := inner(call.body, "schema").get("fields")) is not None:
                changed["schema"] = {
                    "fields": _extend(cursor, name, table, fields=check_schema(schema))
                }
            if view := call.body.get("view"):
                changed |= self._view(name, view) | {"creationTime": table["creationTime"]}
            self._catalog.put(cursor, name, changed)
        return self._resource(name, changed)

    def delete(self, call: Call) -> None:
        """DELETE …/tables/{table}"""
        name = _name(call)
        with self._catalog.database.transaction() as cursor:
            self._table(name)
            self._catalog.drop(cursor, name)

    def data(self, call: Call) -> Document:
        """GET …/tables/{table}/data"""
        name = _name(call)
        document = self._table(name)
        if document["type"] != "TABLE":
            raise invalid(f"Cannot list a table of type {document['type']}.")
        fields = document["schema"]["fields"]
        if chosen := call.query.get("selectedFields"):
            wanted = {one.strip().partition(".")[0].lower() for one in chosen.split(",")}
            fields = [one for one in fields if one["name"].lower() in wanted]
        page = rows.page(
            self._catalog,
            name,
            fields,
            start=rows.token(call.query.get("pageToken")) or call.whole("startIndex") or 0,
            most=call.whole("maxResults"),
            micros=call.flag("formatOptions.useInt64Timestamp"),
        )
        return {"kind": "bigquery#tableDataList", "etag": etag(document)} | page

    def _table(self, name: Name) -> Document:
        """Return the document of a table or a view: a model is neither."""
        item = self._catalog.get(name)
        if item["type"] == "MODEL":
            raise no_such_table(name.project, name.dataset, name.table)
        return item

    def _view(self, name: Name, view: Any) -> Document:
        if not isinstance(view, dict) or not view.get("query"):
            raise missing_parameter("view.query")
        if view.get("useLegacySql"):
            raise not_implemented("legacy SQL: set useLegacySql to false (bq: --nouse_legacy_sql)")
        resolver = Resolver(self._catalog, name.project)
        with self._catalog.database.cursor() as cursor:
            try:
                view_changed = Change(self._writer, cursor, resolver).view(
                    parse(str(view["query"]))
                )
            except duckdb.Error as problem:
                raise problem_of(problem) from None
        return view_changed | {"view": {"query": str(view["query"]), "useLegacySql": False}}

    def _resource(self, name: Name, document: Document) -> Document:
        counts = {}
        if document["type"] == "TABLE":
            with self._catalog.database.cursor() as cursor:
                size = sizes.of(cursor, name, document["schema"]["fields"])
                counts = {"numRows": str(sizes.rows(cursor, name)), "numBytes": str(size)}
        return _short(name, document) | document | counts | {"etag": etag(document)}


def check_id(table: str) -> str:
    """Return the name of a table. Raises Problem for what can be none."""
    if not _ID.fullmatch(table):
        raise invalid(f'Invalid table ID "{table}".')
    return table


def _name(call: Call) -> Name:
    return Name(call.path("project"), call.path("dataset"), call.path("table").split("$")[0])


def _short(name: Name, document: Document) -> Document:
    kept = ("type", "creationTime", "labels", "friendlyName", "timePartitioning", "clustering")
    return {
        "kind": "bigquery#table",
        "id": str(name),
        "tableReference": name.reference(),
        "location": LOCATION,
    } | {key: document[key] for key in kept if key in document}


def _extend(cursor: Any, name: Name, table: Document, *, fields: list[Field]) -> list[Field]:
    """Return the schema with columns added at its end; descriptions and modes may change, too."""
    own = table["schema"]["fields"]
    if not own and table["type"] == "TABLE":
        Catalog.columns(cursor, name, fields)
        return fields
    for before, after in zip(own, fields, strict=False):
        same = (before["name"], duckdb_type(before)) == (after["name"], duckdb_type(after))
        if not same or (before["mode"] == "NULLABLE" and after["mode"] == "REQUIRED"):
            raise invalid(
                f"Provided Schema does not match Table {name}. Field {before['name']} has changed"
            )
        if (before["mode"], after["mode"]) == ("REQUIRED", "NULLABLE"):
            column = quote(before["name"])
            cursor.execute(f"ALTER TABLE {name.sql_name} ALTER COLUMN {column} DROP NOT NULL")
    if len(fields) < len(own):
        raise Problem(
            400, "invalid", f"Provided Schema does not match Table {name}. Cannot remove fields"
        )
    for one in fields[len(own) :]:
        if one["mode"] == "REQUIRED":
            raise invalid(f"Cannot add required fields to an existing schema ({one['name']})")
        added = f"{quote(one['name'])} {duckdb_type(one)}"
        cursor.execute(f"ALTER TABLE {name.sql_name} ADD COLUMN {added}")
    return fields
