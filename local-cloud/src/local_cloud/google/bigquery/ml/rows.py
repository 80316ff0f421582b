"""Rows of queries, given to what trains and predicts: the process of queries does this."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from local_cloud.google.bigquery.duckdb.query_session import Session
from local_cloud.google.bigquery.ml import functions
from local_cloud.google.bigquery.ml.calls import Call
from local_cloud.google.bigquery.ml.store import Models

BATCH = 100_000  # rows that are written at once


def write_rows(session: Session, sql: str, target: Path) -> None:
    """Write a query's rows as a file of Arrow's, a part at a time."""
    import pyarrow as pa

    reader = session.connection.sql(sql).to_arrow_reader(BATCH)
    with pa.OSFile(str(target), "wb") as file, pa.ipc.new_file(file, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def call_function(
    session: Session, name: str, function: str, model: Path, sql: str | None, settings: Any
) -> bool:
    """Make what ML's function returns a table of this name; returns whether the model is there.

    model: its folder; sql: selects the rows that the function is called with. Raises Problem.
    """
    try:
        trained = _models(model.parent).load(model.name)
    except FileNotFoundError:
        return False
    rows = session.connection.sql(sql).to_arrow_table() if sql else None
    result = functions.call(function, Call(trained, rows, settings, session.check))
    session.connection.register(name, result)
    return True


@functools.cache
def _models(folder: Path) -> Models:
    return Models(folder)
