"""ALTER TABLE: columns are added, dropped and renamed, a table gets another name or options."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.google.bigquery.api.errors import duplicate, invalid_query, not_implemented
from local_cloud.google.bigquery.api.types import check_schema, duckdb_type, quote
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, Name
from local_cloud.google.bigquery.catalog.definitions import field
from local_cloud.google.bigquery.catalog.outcome import Cursor
from local_cloud.google.bigquery.duckdb.database import encode


class Alteration:
    """The actions on one table; its document changes with them."""

    def __init__(self, catalog: Catalog, cursor: Cursor, name: Name, *, document: Document) -> None:
        """Work in the cursor's transaction."""
        self.catalog, self.cursor = catalog, cursor
        self.name, self.document = name, document

    def run(self, action: Any) -> None:
        """Run one action. Raises Problem."""
        match action:
            case exp.ColumnDef():
                self._add(action)
            case exp.Drop() if action.args.get("kind") == "COLUMN":
                self._drop(action)
            case exp.RenameColumn():
                self._rename_column(action)
            case exp.AlterRename():
                self._rename(action)
            case _:
                raise not_implemented(f"ALTER TABLE … {action.sql('bigquery')[:60]}")

    def _fields(self) -> list[Any]:
        fields: list[Any] = self.document["schema"]["fields"]
        return fields

    def _find(self, column: str) -> Any:
        for one in self._fields():
            if one["name"].lower() == column.lower():
                return one
        return None

    def _alter(self, words: str) -> None:
        self.cursor.execute(f"ALTER TABLE {self.name.sql_name} {words}")

    def _add(self, action: Any) -> None:
        (new,) = check_schema([field(action)])
        if self._find(new["name"]):
            if action.args.get("exists"):
                return
            raise invalid_query(f"Column already exists: {new['name']}")
        if new["mode"] == "REQUIRED":
            raise invalid_query("Cannot add required columns to an existing table")
        self._alter(f"ADD COLUMN {quote(new['name'])} {duckdb_type(new)}")
        self._fields().append(new)

    def _drop(self, action: Any) -> None:
        column = (action.args.get("tables") or [action.this])[0].name
        dropped = self._find(column)
        if dropped is None:
            if action.args.get("exists"):
                return
            raise invalid_query(f"Column not found: {column}")
        if len(self._fields()) == 1:
            raise invalid_query(f"ALTER TABLE cannot drop the only column of {self.name}")
        self._alter(f"DROP COLUMN {quote(dropped['name'])}")
        self._fields().remove(dropped)

    def _rename_column(self, action: Any) -> None:
        column = self._find(action.this.name)
        if column is None:
            raise invalid_query(f"Column not found: {action.this.name}")
        new = action.args["to"].name
        (changed,) = check_schema([column | {"name": new}])
        if self._find(new):
            raise invalid_query(f"Column already exists: {new}")
        self._alter(f"RENAME COLUMN {quote(column['name'])} TO {quote(new)}")
        column |= changed

    def _rename(self, action: Any) -> None:
        new = Name(self.name.project, self.name.dataset, action.this.name)
        if self.catalog.find(new):
            raise duplicate("Table", str(new))
        self._alter(f"RENAME TO {quote(encode(new.table))}")
        self.catalog.drop_document(self.cursor, self.name)
        self.name = new
