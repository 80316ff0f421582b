"""Put rows into tables, as a write disposition says."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import Problem, invalid
from local_cloud.google.bigquery.api.types import Field, duckdb_type, field_of, quote
from local_cloud.google.bigquery.catalog.catalog import HIDDEN, Catalog, Name, now, table_document
from local_cloud.google.bigquery.duckdb.query_client import ProcessEnded

if TYPE_CHECKING:
    from local_cloud.google.bigquery.catalog.outcome import Cursor
    from local_cloud.google.bigquery.duckdb.database import Database


class Writer:
    """Writes the catalog's tables."""

    def __init__(self, database: Database, catalog: Catalog) -> None:
        """Change the tables of this database."""
        self.database, self.catalog = database, catalog

    def fill(
        self,
        cursor: Cursor,
        target: Name,
        sql: str,
        *,
        write: str,
        create: str = "CREATE_IF_NEEDED",
        more: dict[str, Any] | None = None,
        schema: list[Field] | None = None,
        afresh: bool = False,
    ) -> int:
        """Put a query's rows into a table as writeDisposition says; returns how many.

        write: "" for a result's own table. schema: the table's if it is to be other than the
        query's. afresh: nothing else of a table that is replaced stays. The query runs before the
        lock is taken: only its rows are written under it.
        """
        fields = schema or fields_of(cursor, sql)
        new_rows(cursor, sql, fields)
        return self.place(
            cursor, target, fields, write=write, create=create, more=more or {}, afresh=afresh
        )

    def place(
        self,
        cursor: Cursor,
        target: Name,
        fields: list[Field],
        *,
        write: str,
        create: str,
        more: dict[str, Any],
        afresh: bool = False,
    ) -> int:
        """Put the new rows, which have these fields, into a table; returns how many."""
        self.database.require_room()
        count = cursor.execute("SELECT count(*) FROM temp.main.new_rows").fetchall()[0][0]
        with self.database.transaction(cursor):
            if target.dataset == HIDDEN:
                self._make_hidden(cursor, target.project)
            else:
                self.catalog.dataset(target.project, target.dataset)
            existing = self.catalog.find(target)
            if existing is None and create == "CREATE_NEVER":
                self.catalog.get(target)
            if existing is not None and existing["type"] != "TABLE":
                raise invalid(f"{target} is a {existing['type']}, which cannot be written")
            self._place(
                cursor, target, None if afresh else existing, write=write, fields=fields, more=more
            )
        with suppress(ProcessEnded):  # the table is gone then
            cursor.execute("DROP TABLE IF EXISTS temp.main.new_rows")
        return int(count)

    def _make_hidden(self, cursor: Cursor, project: str) -> None:
        there = [name for name, _ in self.catalog.datasets(project)]
        if HIDDEN not in there:
            document = {"location": "US", "creationTime": now(), "lastModifiedTime": now()}
            self.catalog.create_dataset(cursor, project, HIDDEN, document=document, new=True)

    def _place(
        self,
        cursor: Cursor,
        target: Name,
        existing: dict[str, Any] | None,
        *,
        write: str,
        fields: list[Field],
        more: dict[str, Any],
    ) -> None:
        if write == "WRITE_EMPTY" and existing and self._holds_rows(cursor, target):
            raise Problem(409, "duplicate", f"Already Exists: Table {target}")
        kept = existing if existing and existing["schema"]["fields"] else None
        if write == "WRITE_APPEND" and kept:
            append(cursor, target, own=kept["schema"]["fields"], given=fields)
            self.catalog.touch(cursor, target)
            return
        if kept and write in ("WRITE_TRUNCATE_DATA", "WRITE_EMPTY"):
            cursor.execute(f"DELETE FROM {target.sql_name}")
            append(cursor, target, own=kept["schema"]["fields"], given=fields)
            self.catalog.touch(cursor, target)
            return
        document = table_document(fields, {})
        if existing:
            document = existing | {"schema": {"fields": fields}, "lastModifiedTime": now()}
        self.catalog.create(cursor, target, fields, more=document | more)
        cursor.execute(f"INSERT INTO {target.sql_name} SELECT * FROM temp.main.new_rows")

    def _holds_rows(self, cursor: Cursor, name: Name) -> bool:
        return bool(cursor.execute(f"SELECT 1 FROM {name.sql_name} LIMIT 1").fetchall())


def new_rows(cursor: Any, sql: str, fields: list[Field]) -> None:
    """Make the temporary table `new_rows` of a query's rows, with columns of these types.

    cursor: the server's or, in the process of queries, DuckDB's own connection.
    """
    columns = ", ".join(
        f"CAST({quote(one['name'])} AS {duckdb_type(one)}) AS {quote(one['name'])}"
        for one in fields
    )
    cursor.execute("DROP TABLE IF EXISTS temp.main.new_rows")
    cursor.execute(f"CREATE TEMP TABLE new_rows AS SELECT {columns} FROM ({sql})")


def append(cursor: Cursor, target: Name, *, own: list[Field], given: list[Field]) -> None:
    """Insert the new rows by their columns' names. Raises Problem for other columns."""
    known = {one["name"].lower(): one for one in own}
    for one in given:
        mine = known.get(one["name"].lower())
        if mine is None:
            raise invalid(
                f"Provided Schema does not match Table {target}. Cannot add fields"
                f" (field: {one['name']})"
            )
        if mine["type"] != one["type"] and (one["type"], mine["type"]) not in WIDENED:
            raise invalid(
                f"Provided Schema does not match Table {target}. Field {one['name']} has changed"
                f" type from {mine['type']} to {one['type']}"
            )
    names = ", ".join(quote(one["name"]) for one in given)
    cursor.execute(
        f"INSERT INTO {target.sql_name} ({names}) SELECT {names} FROM temp.main.new_rows"
    )


WIDENED = {
    ("INTEGER", "FLOAT"),
    ("INTEGER", "NUMERIC"),
    ("INTEGER", "BIGNUMERIC"),
    ("NUMERIC", "FLOAT"),
    ("NUMERIC", "BIGNUMERIC"),
    ("STRING", "JSON"),
}


def fields_of(cursor: Cursor, sql: str) -> list[Field]:
    """Return the schema of a query's result."""
    described = cursor.execute(f"SELECT * FROM ({sql}) LIMIT 0").description or []
    return [field_of(one[0], one[1]) for one in described]
