"""Bytes: of tables, and of what a query reads, as BigQuery counts them.

cloud.google.com/bigquery/docs/reference/standard-sql/data-types#data_type_sizes
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from local_cloud.billing.query_records import count_billed_bytes
from local_cloud.google.bigquery.api.types import Field, quote
from local_cloud.google.bigquery.catalog.catalog import Document, Name

FIXED = {"BOOLEAN": 1, "NUMERIC": 16, "BIGNUMERIC": 32, "INTERVAL": 16}


def estimate_processed(cursor: Any, tree: Any, reads: dict[Name, Document]) -> dict[str, Any]:
    """Return the statistics of a query that reads these tables: the columns that it names count."""
    starred = any(True for _ in tree.find_all(exp.Star) if not isinstance(_.parent, exp.Count))
    named = {column.name.lower() for column in tree.find_all(exp.Column, exp.Identifier)}
    sizes = []
    for name, document in reads.items():
        fields = document["schema"]["fields"]
        chosen = [one for one in fields if starred or one["name"].lower() in named]
        sizes.append(of(cursor, name, chosen))
    return {
        "totalBytesProcessed": str(sum(sizes)),
        "totalBytesBilled": str(count_billed_bytes(sizes)),
        "cacheHit": False,
    }


def of(cursor: Any, name: Name, fields: list[Field]) -> int:
    """Return the logical bytes of these columns of a table."""
    if not fields:
        return 0
    terms = " + ".join(_bytes(one) for one in fields)
    (row,) = cursor.execute(f"SELECT sum({terms}) FROM {name.sql_name}").fetchall()
    return int(row[0] or 0)


def rows(cursor: Any, name: Name) -> int:
    """Return how many rows a table has."""
    (row,) = cursor.execute(f"SELECT count(*) FROM {name.sql_name}").fetchall()
    return int(row[0])


def _bytes(field: Field) -> str:
    column = quote(field["name"])
    if field.get("mode") == "REPEATED" or field["type"] == "RECORD":
        text = f"strlen(CAST({column} AS VARCHAR))"  # near enough: it is counted field by field
    elif field["type"] == "BYTES":
        text = f"octet_length({column}) + 2"
    elif field["type"] in ("STRING", "JSON"):
        text = f"strlen(CAST({column} AS VARCHAR)) + 2"
    else:
        text = str(FIXED.get(field["type"], 8))
    return f"CASE WHEN {column} IS NULL THEN 0 ELSE {text} END"
