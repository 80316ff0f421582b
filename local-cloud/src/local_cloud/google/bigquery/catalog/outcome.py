"""What a query asks for, and what a statement did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from local_cloud.billing import query_records
from local_cloud.google.bigquery.catalog.catalog import Name
from local_cloud.google.bigquery.duckdb.query_client import Cursor as Cursor

USER = "user@local-cloud"  # who runs all queries


@dataclass
class Request:
    """A query's text and what belongs to it."""

    project: str
    query: str
    dataset: str = ""  # the default one: its project
    dataset_project: str = ""
    parameters: list[dict[str, Any]] = field(default_factory=list)
    destination: Name | None = None
    write: str = "WRITE_EMPTY"
    create: str = "CREATE_IF_NEEDED"
    most_billed: int | None = None  # bytes
    check: Callable[[], None] = lambda: None  # raises if the job was cancelled


@dataclass
class Outcome:
    """What a statement did: as a job's `statistics.query` has it, and where its rows are."""

    statistics: dict[str, Any]
    destination: Name | None = None
    billed_as: str = query_records.QUERY  # which price the bytes have
