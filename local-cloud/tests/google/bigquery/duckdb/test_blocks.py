"""A file of DuckDB's is refused exactly if something in it is gone that a table needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.duckdb.blocks import HEADERS
from local_cloud.google.bigquery.duckdb.database import Database
from local_cloud.google.bigquery.duckdb.file import FILE, open_file

MEMORY = 1 << 29
BLOCK = 1 << 18  # bytes


def kill(database: Database) -> None:
    database._open_process().kill()  # SIGKILL


def counted(file: Path) -> int:
    """How many bytes the file has by its header."""
    with duckdb.connect(str(file), read_only=True) as connection:
        query = "SELECT total_blocks FROM pragma_database_size()"
        ((blocks,),) = connection.execute(query).fetchall()
    return HEADERS + int(blocks) * BLOCK


def test_blocks_that_nobody_needs_are_not_missed(tmp_path: Path) -> None:
    database = Database(tmp_path, memory=MEMORY)
    for statement in (
        "CREATE TABLE kept AS SELECT x FROM range(9000) AS t(x)",
        "CREATE TABLE dropped AS SELECT hash(x) AS y FROM range(400000) AS t(x)",
        "DROP TABLE dropped",
    ):
        with database.transaction() as cursor:
            cursor.execute(statement)
        with database.cursor() as cursor:
            cursor.execute("CHECKPOINT")  # writes the header, then cuts off free blocks at the end
    kill(database)
    file = tmp_path / FILE
    assert file.stat().st_size < counted(file)
    assert database.rows("SELECT count(*), sum(x) FROM kept") == [(9000, sum(range(9000)))]
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO kept VALUES (9000)")
    kill(database)
    assert database.rows("SELECT count(*) FROM kept") == [(9001,)]
    database.close()


def test_nothing_is_missed_after_a_server_that_stopped(tmp_path: Path) -> None:
    database = Database(tmp_path, memory=MEMORY)
    with database.transaction() as cursor:
        cursor.execute("CREATE TABLE kept AS SELECT 7 AS x")
        cursor.execute("CREATE TABLE dropped AS SELECT hash(x) AS y FROM range(400000) AS t(x)")
    database.close()
    with database.transaction() as cursor:
        cursor.execute("DROP TABLE dropped")
    database.close()
    assert database.rows("SELECT x FROM kept") == [(7,)]
    database.close()


# Values of each way in which DuckDB stores them, those that have blocks of their own too.
TABLES = (
    "numbers AS SELECT x, hash(x) AS y, x % 7 AS z FROM range(150000) AS t(x)",
    "long AS SELECT x, (SELECT string_agg(md5(x || '-' || y), '') FROM range(9000) AS s(y)) AS y"
    " FROM range(6) AS t(x)",
    "gone AS SELECT hash(x) AS y FROM range(200000) AS t(x)",
    "nested AS SELECT x, [md5(x::VARCHAR), 'x'] AS y, {'a': md5('a' || x)::BLOB} AS z"
    " FROM range(20000) AS t(x)",
    "last AS SELECT hash(x) AS y FROM range(40000) AS t(x)",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with free blocks in the middle."""
    database = Database(folder := tmp_path_factory.mktemp("whole"), memory=MEMORY)
    for table in TABLES:
        with database.transaction() as cursor:
            cursor.execute(f"CREATE TABLE {table}")
        with database.cursor() as cursor:
            cursor.execute("CHECKPOINT")
    with database.transaction() as cursor:
        cursor.execute("DROP TABLE gone")
        cursor.execute("UPDATE numbers SET y = 0 WHERE x % 3 = 0")
    database.close()
    return folder / FILE


def lost(file: Path) -> set[str] | None:
    """The tables of which DuckDB cannot read all rows; None if it cannot open the file."""
    tables = set()
    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            names = connection.execute("SELECT schema_name, table_name FROM duckdb_tables()")
            for schema, table in names.fetchall():
                try:
                    connection.execute(f'SELECT * FROM "{schema}"."{table}"').fetchall()
                except duckdb.Error:
                    tables.add(f"{schema}.{table}")
    except duckdb.Error:
        return None
    return tables


def test_a_file_that_was_cut_off_anywhere_is_refused_if_duckdb_misses_something(
    whole: Path, tmp_path: Path
) -> None:
    content, seen = whole.read_bytes(), set()
    for size in range(HEADERS, len(content) + 1, BLOCK):
        folder = tmp_path / str(size)
        folder.mkdir()
        for kept in {size, max(size - 1, HEADERS)}:
            (folder / FILE).write_bytes(content[:kept])
            missing = lost(folder / FILE)
            if missing == set():
                open_file(folder, MEMORY).close()
                seen.add("whole")
                continue
            with pytest.raises(Problem, match="put a whole copy in its place") as refused:
                open_file(folder, MEMORY)
            said = str(refused.value)
            if missing is None:
                assert "to start without tables" in said
                seen.add("nothing")
            else:
                assert all(table in said for table in sorted(missing)[:5])
                assert "can still read the other tables" in said
                assert "start without" not in said
                seen.add("some tables")
            assert (folder / FILE).read_bytes() == content[:kept]
        shutil.rmtree(folder)
    assert seen >= {"whole", "some tables"}


def test_a_file_that_is_refused_is_left_as_it_is_with_its_log(whole: Path, tmp_path: Path) -> None:
    shutil.copy(whole, tmp_path)
    database = Database(tmp_path, memory=MEMORY)
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO last SELECT x FROM range(1000) AS t(x)")
    kill(database)
    with open(tmp_path / FILE, "rb+") as file:
        file.truncate(HEADERS + 4 * BLOCK)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert {FILE, f"{FILE}.wal"} <= {*before}
    for _ in range(2):
        with pytest.raises(Problem, match="put a whole copy"):
            database.rows("SELECT 1")
        after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
        assert after == before


def test_a_log_that_a_kill_has_cut_off_anywhere_holds_what_was_committed_before(
    tmp_path: Path,
) -> None:
    database = Database(tmp_path / "whole", memory=MEMORY)
    with database.transaction() as cursor:
        cursor.execute("CREATE TABLE t (x INTEGER, y VARCHAR)")
    log, ends = tmp_path / "whole" / f"{FILE}.wal", []
    for x in range(6):
        with database.transaction() as cursor:
            cursor.execute("INSERT INTO t VALUES (?, repeat('x', 100))", [x])
        ends.append(log.stat().st_size)
    kill(database)
    content = log.read_bytes()
    for size in (*range(ends[0], ends[1] + 1, 7), *ends, ends[-1] - 1):
        folder = shutil.copytree(tmp_path / "whole", tmp_path / str(size), dirs_exist_ok=True)
        (folder / log.name).write_bytes(content[:size])
        connection = open_file(folder, MEMORY)
        committed = [(x,) for x, end in enumerate(ends) if end <= size]
        assert connection.execute("SELECT x FROM t").fetchall() == committed
        connection.close()
