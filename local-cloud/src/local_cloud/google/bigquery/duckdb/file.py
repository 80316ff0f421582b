"""DuckDB's file for all projects: a schema per dataset, and the catalog beside them.

DuckDB writes its log ahead and syncs it at each commit, so what was acknowledged survives a crash,
and data and catalog change in one transaction. It may open no other file, load no extension, and
its settings are locked: SQL from outside that got past the checks would find nothing of the host.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from local_cloud.google.bigquery.api.errors import Problem, not_implemented
from local_cloud.google.bigquery.duckdb.blocks import require_needed_blocks
from local_cloud.google.bigquery.duckdb.farmhash import fingerprint
from local_cloud.google.bigquery.duckdb.foreign_errors import (
    database_damage,
    is_the_disks,
    problem_of,
)
from local_cloud.google.bigquery.duckdb.functions import FINGERPRINT, PREFIX, macros

if TYPE_CHECKING:
    import duckdb

FILE = "bigquery.duckdb"
Config = dict[str, str | bool | int | float | list[str]]
SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "threads": "2",
    "max_temp_directory_size": "10GB",
}
# BigQuery's defaults, as DuckDB has them; the last one locks all others.
SET = (
    "SET TimeZone = 'UTC'",
    "SET lock_configuration = true",
)
CATALOG = (
    "CREATE SCHEMA IF NOT EXISTS catalog",
    "CREATE TABLE IF NOT EXISTS catalog.dataset ("
    " project VARCHAR, dataset VARCHAR, document VARCHAR)",
    "CREATE TABLE IF NOT EXISTS catalog.item ("  # tables, views and models
    " project VARCHAR, dataset VARCHAR, name VARCHAR, document VARCHAR)",
    "CREATE TABLE IF NOT EXISTS catalog.macros (version VARCHAR)",
)
PATIENCE = 20.0  # seconds for which another process's lock is waited for: it may be ending


def open_file(folder: Path, memory: int) -> duckdb.DuckDBPyConnection:
    """Open the file, or make it if there is none; memory: bytes for DuckDB. Raises Problem."""
    import duckdb

    path = folder.resolve() / FILE
    if "?" in str(path):
        raise not_implemented(
            f"BigQuery in a folder whose path has a question mark ({folder}), which DuckDB cannot"
            " open: set LOCAL_CLOUD_HOME to a folder without one"
        )
    spill = {"temp_directory": str(path.parent / "spill"), "memory_limit": f"{memory >> 20}MiB"}
    config: Config = {**SETTINGS, **spill}
    try:
        if not path.exists():
            _make(path, config)
        connection = _connect(path, config)
    except duckdb.Error as problem:
        raise _explain_opening(path, problem) from None
    with contextlib.ExitStack() as at_problem:
        at_problem.callback(connection.close)
        try:
            # What is refused is not written to; what is not gets a CHECKPOINT at the end.
            connection.execute("PRAGMA disable_checkpoint_on_shutdown")
            require_needed_blocks(connection, path)
            _define(connection)
        except duckdb.Error as problem:
            raise _explain_opening(path, problem) from None
        at_problem.pop_all()
    connection.create_function(PREFIX + FINGERPRINT, fingerprint, ["BLOB"], "BIGINT")
    for statement in SET:
        connection.execute(statement)
    return connection


def _make(path: Path, config: Config) -> None:
    """Make the file whole: one that is there has been whole, so one that is not is damaged."""
    import duckdb

    log = path.with_name(f"{FILE}.wal")
    if log.exists():
        raise database_damage(f"there is {log}, and not {path.name}")
    draft = path.with_name(f"{FILE}.new")
    for left in (draft, draft.with_name(f"{draft.name}.wal")):
        left.unlink(missing_ok=True)
    with duckdb.connect(str(draft), config=config) as connection:
        _define(connection)
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _connect(path: Path, config: Config) -> duckdb.DuckDBPyConnection:
    """Connect once no other process has the file open: one that ends may still hold its lock."""
    import duckdb

    end = time.monotonic() + PATIENCE
    while True:
        try:
            return duckdb.connect(str(path), config=config)
        except duckdb.IOException as problem:
            if "lock on file" not in str(problem) or time.monotonic() > end:
                raise
        time.sleep(0.05)


def _explain_opening(path: Path, problem: duckdb.Error) -> Problem:
    said = str(problem).splitlines()[0]
    if "lock on file" in said:
        return Problem(500, "fault", f"another process uses {path}: end it, then try again")
    if is_the_disks(said):
        return problem_of(problem)
    return database_damage(said if str(path) in said else f"{path}: {said}")


def _define(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the catalog and the macros, where they are not there: a full disk can be read."""
    for statement in CATALOG:
        connection.execute(statement)
    wanted = macros()
    version = hashlib.sha256(wanted.encode()).hexdigest()
    if connection.execute("SELECT version FROM catalog.macros").fetchall() == [(version,)]:
        return
    connection.execute("BEGIN TRANSACTION")
    connection.execute(wanted)
    connection.execute("DELETE FROM catalog.macros")
    connection.execute("INSERT INTO catalog.macros VALUES (?)", [version])
    connection.execute("COMMIT")
