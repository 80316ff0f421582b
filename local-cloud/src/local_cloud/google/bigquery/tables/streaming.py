"""Handler of …/insertAll: rows that come one request at a time."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from local_cloud.google.bigquery.api.errors import invalid, not_implemented
from local_cloud.google.bigquery.api.types import Field, duckdb_type
from local_cloud.google.bigquery.catalog.catalog import Catalog, Document, Name
from local_cloud.google.bigquery.duckdb.foreign_errors import problem_of
from local_cloud.google.rest import Call, inners

MOST = 50_000  # rows of a request, as the service has it


class Streaming:
    """Inserts rows that are checked one by one."""

    def __init__(self, catalog: Catalog) -> None:
        """Write into this catalog's tables."""
        self._catalog = catalog

    def insert(self, call: Call) -> Document:
        """POST …/tables/{table}/insertAll"""
        name = Name(call.path("project"), call.path("dataset"), call.path("table"))
        if call.body.get("templateSuffix"):
            raise not_implemented("templateSuffix of insertAll")
        given = [one.get("json") for one in inners(call.body, "rows")]
        if not given or len(given) > MOST or not all(isinstance(one, dict) for one in given):
            raise invalid(f"insertAll needs 1 to {MOST} rows, each with an object as its json")
        self._catalog.database.require_room()
        document = self._catalog.get(name)
        if document["type"] != "TABLE":
            raise invalid(f"Cannot add rows to a table of type {document['type']}.")
        unknown = bool(call.body.get("ignoreUnknownValues"))
        skip = bool(call.body.get("skipInvalidRows"))
        fields = document["schema"]["fields"]
        try:
            errors = self._insert(name, fields, given, unknown=unknown, skip=skip)
        except duckdb.Error as problem:
            raise problem_of(problem) from None
        answer: Document = {"kind": "bigquery#tableDataInsertAllResponse"}
        if errors and not skip:  # then none has been inserted
            others = set(range(len(given))) - set(errors)
            errors |= {index: [_error("stopped", "", "")] for index in others}
        if errors:
            errors_by_row = [
                {"index": index, "errors": each} for index, each in sorted(errors.items())
            ]
            answer["insertErrors"] = errors_by_row
        return answer

    def _insert(
        self, name: Name, fields: list[Field], rows: list[Any], *, unknown: bool, skip: bool
    ) -> dict[int, list[Document]]:
        """Insert the rows, or those that are right; returns what is wrong, by a row's index."""
        errors = {
            index: problems
            for index, row in enumerate(rows)
            if (problems := _wrong(fields, row, unknown=unknown))
        }
        with self._catalog.database.cursor() as cursor:
            self._raw(cursor, fields, rows)
            for index, field in self._unread(cursor, fields):
                message = f"Cannot convert value to {field['type'].lower()}"
                errors.setdefault(index, []).append(_error("invalid", field["name"], message))
            if errors and not skip:
                return errors
            values = ", ".join(_read(place, one) for place, one in enumerate(fields))
            good = [index for index in range(len(rows)) if index not in errors]
            with self._catalog.database.transaction(cursor):
                cursor.execute(
                    f"INSERT INTO {name.sql_name} SELECT {values} FROM temp.main.raw"
                    " WHERE list_contains(?, place) ORDER BY place",
                    [good],
                )
                self._catalog.touch(cursor, name)
        return errors

    def _raw(self, cursor: Any, fields: list[Field], rows: list[Any]) -> None:
        """Read the rows as text into the temporary table `raw`."""
        columns = "".join(f", c{place} VARCHAR" for place in range(len(fields)))
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE raw (place BIGINT{columns})")
        texts = []
        for index, row in enumerate(rows):
            lower = {key.lower(): value for key, value in row.items()}
            texts.append([index, *(_text(one, lower.get(one["name"].lower())) for one in fields)])
        marks = ", ".join("?" for _ in range(len(fields) + 1))
        cursor.executemany(f"INSERT INTO temp.main.raw VALUES ({marks})", texts)

    def _unread(self, cursor: Any, fields: list[Field]) -> list[tuple[int, Field]]:
        unread = []
        for place, field in enumerate(fields):
            wrong = f"c{place} IS NOT NULL AND {_read(place, field, 'TRY_CAST')} IS NULL"
            rows = cursor.execute(f"SELECT place FROM temp.main.raw WHERE {wrong}").fetchall()
            unread += [(index, field) for (index,) in rows]
        return unread


def _read(place: int, field: Field, cast: str = "CAST") -> str:
    """Return the text of a column as the field's type."""
    kind = duckdb_type(field)
    if field["type"] == "RECORD" or field["mode"] == "REPEATED":
        return f"{cast}(CAST(c{place} AS JSON) AS {kind})"
    if field["type"] == "BYTES":
        return f"from_base64(c{place})"
    if field["type"] == "TIMESTAMP":  # a number is seconds
        seconds = f"to_timestamp(TRY_CAST(c{place} AS DOUBLE))"
        return f"coalesce({seconds}, {cast}(c{place} AS {kind}))"
    return f"{cast}(c{place} AS {kind})"


def _text(field: Field, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and field["mode"] != "REPEATED":
        return value
    return json.dumps(value)


def _wrong(fields: list[Field], row: Document, *, unknown: bool) -> list[Document]:
    names = {one["name"].lower() for one in fields}
    problems = [
        _error("invalid", key, f"no such field: {key}.")
        for key in row
        if key.lower() not in names and not unknown
    ]
    given = {key.lower() for key, value in row.items() if value is not None}
    for one in fields:
        if one["mode"] == "REQUIRED" and one["name"].lower() not in given:
            message = f"Missing required field: {one['name']}."
            problems.append(_error("invalid", one["name"], message))
    return problems


def _error(reason: str, location: str, message: str) -> Document:
    return {"reason": reason, "location": location, "debugInfo": "", "message": message}
