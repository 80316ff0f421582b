"""Datasets and what is in them, by name: documents in the catalog, data in tables of DuckDB's.

A document is the API's resource, as far as it is kept: what can be computed is not in it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from local_cloud.google.bigquery.api.errors import duplicate, no_such_dataset, no_such_table
from local_cloud.google.bigquery.api.types import Field, duckdb_type, quote
from local_cloud.google.bigquery.duckdb.database import Database, encode
from local_cloud.google.bigquery.duckdb.query_client import Cursor

Document = dict[str, Any]
HIDDEN = "_results"  # the dataset of queries' results without a destination

_DATASET = "project = ? AND dataset = ?"
_ITEM = "project = ? AND dataset = ? AND name = ?"


@dataclass(frozen=True)
class Name:
    """A table's (a view's, a model's) full name."""

    project: str
    dataset: str
    table: str

    def __str__(self) -> str:
        """Return the name as messages have it."""
        return f"{self.project}:{self.dataset}.{self.table}"

    @property
    def sql_name(self) -> str:
        """Return where DuckDB has it, as SQL."""
        return f"{quote(self.schema)}.{quote(encode(self.table))}"

    @property
    def schema(self) -> str:
        """Return DuckDB's schema of its dataset."""
        return encode(f"{self.project}.{self.dataset}")

    def reference(self) -> Document:
        """Return the reference as the API has it."""
        return {"projectId": self.project, "datasetId": self.dataset, "tableId": self.table}


def now() -> str:
    """Return the time in milliseconds, as resources have it."""
    return str(time.time_ns() // 10**6)


def now_after(statistics: Document) -> str:
    """Return the time, but not before a job was made and started.

    The clock may have been set back.
    """
    times = (now(), statistics["creationTime"], statistics.get("startTime", "0"))
    return str(max(map(int, times)))


class Catalog:
    """What there is. Methods with a cursor are part of its transaction."""

    def __init__(self, database: Database) -> None:
        """Keep the catalog in this database."""
        self.database = database

    def dataset(self, project: str, dataset: str) -> Document:
        """Return the document. Raises Problem if there is none."""
        documents = self.database.documents(
            f"SELECT document FROM catalog.dataset WHERE {_DATASET}", project, dataset
        )
        if not documents:
            raise no_such_dataset(project, dataset)
        return documents[0]

    def datasets(self, project: str) -> list[tuple[str, Document]]:
        """Return a project's datasets, by name."""
        rows = self.database.rows(
            "SELECT dataset, document FROM catalog.dataset WHERE project = ? ORDER BY 1", project
        )
        return [(name, json.loads(text)) for name, text in rows]

    def put_dataset(self, project: str, dataset: str, document: Document, *, new: bool) -> None:
        """Make it, or write the document of the one that there is. Raises Problem."""
        with self.database.transaction() as cursor:
            self.create_dataset(cursor, project, dataset, document=document, new=new)

    def create_dataset(
        self,
        cursor: Cursor,
        project: str,
        dataset: str,
        *,
        document: Document,
        new: bool,
    ) -> None:
        """Make a dataset in a transaction of its own."""
        there = f"SELECT 1 FROM catalog.dataset WHERE {_DATASET}"
        existing = cursor.execute(there, [project, dataset]).fetchone()
        if existing and new:
            raise duplicate("Dataset", f"{project}:{dataset}")
        if not existing and not new:
            raise no_such_dataset(project, dataset)
        cursor.execute(f"DELETE FROM catalog.dataset WHERE {_DATASET}", [project, dataset])
        cursor.execute(
            "INSERT INTO catalog.dataset VALUES (?, ?, ?)", [project, dataset, json.dumps(document)]
        )
        cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(encode(f'{project}.{dataset}'))}")

    def delete_dataset(self, project: str, dataset: str) -> None:
        """Remove it with all that is in it."""
        with self.database.transaction() as cursor:
            cursor.execute(f"DELETE FROM catalog.dataset WHERE {_DATASET}", [project, dataset])
            cursor.execute(f"DELETE FROM catalog.item WHERE {_DATASET}", [project, dataset])
            schema = quote(encode(f"{project}.{dataset}"))
            cursor.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")

    def find(self, name: Name) -> Document | None:
        """Return the document of a table, view or model; None if there is none."""
        documents = self.database.documents(
            f"SELECT document FROM catalog.item WHERE {_ITEM}",
            name.project,
            name.dataset,
            name.table,
        )
        return documents[0] if documents else None

    def get(self, name: Name) -> Document:
        """Return the document. Raises Problem if there is none, or no dataset."""
        item = self.find(name)
        if item is None:
            self.dataset(name.project, name.dataset)
            raise no_such_table(name.project, name.dataset, name.table)
        return item

    def items(self, project: str, dataset: str) -> list[tuple[Name, Document]]:
        """Return the items of a dataset, by name."""
        rows = self.database.rows(
            f"SELECT name, document FROM catalog.item WHERE {_DATASET} ORDER BY 1",
            project,
            dataset,
        )
        return [(Name(project, dataset, name), json.loads(text)) for name, text in rows]

    def put(self, cursor: Cursor, name: Name, document: Document) -> None:
        """Write a document, in place of the one that there may be."""
        self.drop_document(cursor, name)
        cursor.execute(
            "INSERT INTO catalog.item VALUES (?, ?, ?, ?)",
            [name.project, name.dataset, name.table, json.dumps(document)],
        )

    def drop_document(self, cursor: Cursor, name: Name) -> None:
        """Remove a document if there is one."""
        where = [name.project, name.dataset, name.table]
        cursor.execute(f"DELETE FROM catalog.item WHERE {_ITEM}", where)

    def create(
        self, cursor: Cursor, name: Name, fields: list[Field], *, more: Document
    ) -> Document:
        """Make an empty table, in place of the one that there may be."""
        self.columns(cursor, name, fields)
        document = table_document(fields, more)
        self.put(cursor, name, document)
        return document

    @staticmethod
    def columns(cursor: Cursor, name: Name, fields: list[Field]) -> None:
        """Make DuckDB's table of these columns, empty."""
        # BigQuery's tables may have no column, DuckDB's must.
        columns = ", ".join(_column(one) for one in fields) or '" " INTEGER'
        cursor.execute(f"CREATE OR REPLACE TABLE {name.sql_name} ({columns})")

    def drop(self, cursor: Cursor, name: Name) -> None:
        """Remove a table, a view or a model."""
        cursor.execute(f"DROP TABLE IF EXISTS {name.sql_name}")
        self.drop_document(cursor, name)

    def touch(self, cursor: Cursor, name: Name) -> None:
        """Note that a table's rows have changed."""
        document = self.get(name)
        self.put(cursor, name, document | {"lastModifiedTime": now()})


def table_document(fields: list[Field], more: Document) -> Document:
    """Return the document of a new table."""
    at = now()
    return {
        "type": "TABLE",
        "schema": {"fields": fields},
        "creationTime": at,
        "lastModifiedTime": at,
    } | more


def _column(field: Field) -> str:
    needed = " NOT NULL" if field.get("mode") == "REQUIRED" else ""
    return f"{quote(field['name'])} {duckdb_type(field)}{needed}"
