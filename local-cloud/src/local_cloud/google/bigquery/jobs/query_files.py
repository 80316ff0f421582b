"""Read and write files in the process of queries.

A second DuckDB, which our own statements alone reach, does it; the one that runs queries may open
no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from local_cloud.google.bigquery.api.types import Field
from local_cloud.google.bigquery.catalog.writing import new_rows
from local_cloud.google.bigquery.duckdb.file import Config
from local_cloud.google.bigquery.duckdb.foreign_errors import unreadable
from local_cloud.google.bigquery.duckdb.query_session import Session
from local_cloud.google.bigquery.jobs.reading import Source

BATCH = 50_000  # rows


def read_files(
    session: Session, settings: dict[str, Any], files: list[Path], fields: list[Field]
) -> list[Field]:
    """Make the temporary table `new_rows` of the rows of files; returns its columns.

    settings: the load job's; fields: its schema, [] to have it detected. Raises Problem.
    """
    with _other(session) as reader:
        try:
            source = Source(reader, settings, files, fields=fields)
            batches = reader.sql(source.sql, params=source.values).to_arrow_reader(BATCH)
            session.connection.register("incoming", batches)
            new_rows(session.connection, "SELECT * FROM incoming", source.fields)
        except (duckdb.InterruptException, duckdb.OutOfMemoryException):
            raise
        except duckdb.Error as problem:
            raise unreadable(problem, files) from None
        finally:
            session.connection.unregister("incoming")
    return source.fields


def write_file(session: Session, sql: str, file: Path, options: list[str]) -> None:
    """Write a query's rows to a file; options: those of COPY."""
    rows = session.connection.sql(sql).to_arrow_reader(BATCH)
    with _other(session) as writer:
        writer.register("outgoing", rows)
        path = str(file).replace("'", "''")
        writer.execute(f"COPY (SELECT * FROM outgoing) TO '{path}' ({', '.join(options)})")


@contextmanager
def _other(session: Session) -> Iterator[duckdb.DuckDBPyConnection]:
    config: Config = {"threads": "2", "memory_limit": f"{session.memory // 2 >> 20}MiB"}
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        with session.with_other(connection):
            yield connection
