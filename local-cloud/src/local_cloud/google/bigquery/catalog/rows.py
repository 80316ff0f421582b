"""Pages of a table's rows, read from the disk page by page."""

from __future__ import annotations

from typing import Any

from local_cloud.google.bigquery.api.errors import invalid
from local_cloud.google.bigquery.api.types import Field, duckdb_type, form, quote
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, Name
from local_cloud.http.whole_numbers import whole

MOST_ROWS = 10_000  # of a page, where the client names no number
MOST_BYTES = 8 << 20  # about


def page(
    catalog: Catalog,
    name: Name,
    fields: list[Field],
    *,
    start: int,
    most: int | None,
    micros: bool,
) -> Document:
    """Return rows from `start`, `totalRows`, and the token of the next page if there is one.

    A page ends at `most` rows, or where it has become large.
    """
    most = MOST_ROWS if most is None else min(most, MOST_ROWS)
    columns = ", ".join(_column(one) for one in fields)
    with catalog.database.cursor() as cursor:
        (total,) = cursor.execute(f"SELECT count(*) FROM {name.sql_name}").fetchall()[0]
        rows: list[Document] = []
        if most and fields and start < total:
            cursor.execute(f"SELECT {columns} FROM {name.sql_name} LIMIT {most} OFFSET {start}")
            forms = [form(one, micros=micros) for one in fields]
            size = 0
            while size < MOST_BYTES and (batch := cursor.fetchmany(500)):
                made = [_row(forms, row) for row in batch]
                size += len(str(made))
                rows += made
    after = start + len(rows)
    more = {"pageToken": str(after)} if after < total and (rows or most) else {}
    if not most and total > start:
        more = {"pageToken": str(start)}
    return {"totalRows": str(total), "rows": rows} | more


def _column(field: Field) -> str:
    """Select a column as text where it holds an INTERVAL: Python's timedelta has no months."""
    column, kind = quote(field["name"]), duckdb_type(field)
    if (shown := duckdb_type(_texts(field))) != kind:
        return f"CAST({column} AS {shown}) AS {column}"
    return column


def _texts(field: Field) -> Field:
    if field["type"] == "RECORD":
        return field | {"fields": [_texts(one) for one in field["fields"]]}
    return field | {"type": "STRING"} if field["type"] == "INTERVAL" else field


def _row(forms: list[Any], row: tuple[Any, ...]) -> Document:
    return {"f": [{"v": make(one)} for make, one in zip(forms, row, strict=True)]}


def token(text: str | None) -> int:
    """Return the row that a page's token stands for."""
    if text in (None, ""):
        return 0
    if (row := whole(str(text))) is None:
        raise invalid(f"Invalid value for pageToken: {str(text)[:80]!r}")
    return row
