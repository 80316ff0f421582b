"""Find out whether the end of DuckDB's file is gone: DuckDB notices when it needs what was there.

The number of blocks in the file's header says nothing about that. When tables were dropped, DuckDB
writes the header, and only then cuts free blocks off the end (SingleFileBlockManager::Truncate),
so the header of a process that was ended after that counts blocks that nobody needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from local_cloud.google.bigquery.api.types import quote
from local_cloud.google.bigquery.duckdb.database import decode
from local_cloud.google.bigquery.duckdb.foreign_errors import database_damage

if TYPE_CHECKING:
    import duckdb

HEADERS = 3 * 4096  # bytes before the first block of DuckDB's file
SHOWN = 5  # tables that a message names


def require_needed_blocks(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise Problem, with the tables that have lost rows, if a block is gone that is not free.

    What is in the blocks is not read: that takes a quarter of a second for a table of 700 MB,
    and no time at all where the file is as long as its header says.
    """
    size = "SELECT block_size, total_blocks FROM pragma_database_size()"
    block, count = connection.execute(size).fetchall()[0]
    first = (path.stat().st_size - HEADERS) // block  # that is not in the file, or not all of it
    if first >= count:
        return
    needed = "SELECT 1 FROM pragma_metadata_info() WHERE block_id >= ? LIMIT 1"
    if connection.execute(needed, [first]).fetchall():
        raise database_damage(f"the end of {path} is missing, and with it what tables there are")
    if lost := list(_tables_behind(connection, first)):
        more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
        raise database_damage(
            f"the end of {path} is missing, and with it rows of {', '.join(lost[:SHOWN])}{more}",
            partly=True,
        )


def _tables_behind(connection: duckdb.DuckDBPyConnection, first: int) -> Iterator[str]:
    """Yield the tables that need this block, or one behind it."""
    tables = "SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL"
    needed = (
        "SELECT 1 FROM pragma_storage_info(?)"
        " WHERE block_id >= ? OR list_max(additional_block_ids) >= ? LIMIT 1"
    )
    for schema, table in connection.execute(tables).fetchall():
        name = f"{quote(schema)}.{quote(table)}"
        if connection.execute(needed, [name, first, first]).fetchall():
            yield f"{decode(schema)}.{decode(table)}"
