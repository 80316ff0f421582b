"""DuckDB runs in a process with a limit of memory, which may die."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pytest

from local_cloud.client.home import CHECKOUT
from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.catalog.catalog import Catalog
from local_cloud.google.bigquery.catalog.outcome import Cursor, Outcome
from local_cloud.google.bigquery.duckdb.database import Database
from local_cloud.google.bigquery.duckdb.foreign_errors import explain, problem_of
from local_cloud.google.bigquery.duckdb.query_client import ProcessEnded, _error, _Values
from local_cloud.google.bigquery.jobs import jobs as jobs_module
from local_cloud.google.bigquery.jobs.jobs import Jobs
from local_cloud.store.records import Records

MEMORY = 1 << 29
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces RLIMIT_DATA")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "bigquery", memory=MEMORY)
    yield opened
    opened.close()


@pytest.fixture
def jobs(tmp_path: Path, database: Database) -> Iterator[Jobs]:
    records = Records(tmp_path / "records.sqlite")
    opened = Jobs(records, database, Catalog(database))
    yield opened
    opened.close()
    records.close()


def process_of(database: Database) -> int:
    return int(database._open_process()._process.pid)


def memory_of(process: int) -> int:
    """The most bytes that it has had in memory."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(peak) * 1024


LARGE = {
    "format": "SELECT sum(length(printf('%500000000d', x))) FROM range(12) AS t(x)",
    "repeat": "SELECT length(repeat('x', 2000000000))",
    "concat": "WITH a AS (SELECT repeat('x', 1000000) AS x),"
    " b AS (SELECT x || x || x || x || x || x || x || x || x || x AS x FROM a),"
    " c AS (SELECT x || x || x || x || x || x || x || x || x || x AS x FROM b)"
    " SELECT length(x || x || x || x || x || x || x || x || x || x) FROM c",
    "a list": "SELECT len(list(x)) FROM range(300000000) AS t(x)",
    "one row": "SELECT repeat('x', 400000000) || '' AS x, repeat('y', 400000000) AS y",
}


@LINUX
@pytest.mark.parametrize("what", LARGE)
def test_what_needs_too_much_memory_fails_alone(database: Database, what: str) -> None:
    with database.cursor() as cursor:
        with pytest.raises(duckdb.OutOfMemoryException) as refused:
            cursor.execute(LARGE[what]).fetchall()
        assert problem_of(refused.value).reason == "resourcesExceeded"
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
    assert memory_of(process_of(database)) < 2 * MEMORY


def test_a_row_that_no_answer_can_hold_is_not_sent(database: Database) -> None:
    with database.cursor() as cursor:
        with pytest.raises(Problem, match="more than 20 MB") as refused:
            cursor.execute("SELECT repeat('x', 30000000)")
        assert refused.value.reason == "responseTooLarge"
        assert cursor.execute("SELECT length(repeat('x', 30000000))").fetchall() == [(30000000,)]


def test_rows_come_in_parts_and_in_order(database: Database) -> None:
    with database.cursor() as cursor:
        cursor.execute("SELECT x, repeat('x', 2000) FROM range(5000) AS t(x)")
        first = cursor.fetchmany(3)
        assert len(cursor._rows) < 5000 - 3
        assert [x for x, _ in first + cursor.fetchall()] == list(range(5000))
        assert cursor.fetchone() is None


def test_what_comes_back_runs_no_code() -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.getpid, ()

    import io

    with pytest.raises(pickle.UnpicklingError, match="not a value"):
        _Values(io.BytesIO(pickle.dumps(Trap()))).load()
    assert type(_error("execute", "SELECT 1")) is duckdb.Error  # a function of duckdb's
    assert type(_error("BinderException", "no such column")) is duckdb.BinderException


def test_when_the_process_is_killed_what_was_committed_is_there(database: Database) -> None:
    with database.transaction() as cursor:
        cursor.execute("CREATE TABLE t (x INTEGER)")
        cursor.execute("INSERT INTO t VALUES (1)")
    with database.cursor() as cursor:
        cursor.execute("BEGIN TRANSACTION")
        cursor.execute("INSERT INTO t VALUES (2)")
        os.kill(process_of(database), signal.SIGKILL)
        with pytest.raises(ProcessEnded, match="has ended") as ended:
            cursor.execute("COMMIT")
        assert explain(ended.value).code == 503
    assert database.rows("SELECT x FROM t") == [(1,)]


def test_a_job_that_loses_the_process_runs_once_more(jobs: Jobs, database: Database) -> None:
    runs: list[int] = []

    def handler(cursor: Cursor, document: dict[str, Any]) -> Outcome:
        runs.append(process_of(database))
        if len(runs) == 1 or document["configuration"]["always"]:
            os.kill(runs[-1], signal.SIGKILL)
        cursor.execute("SELECT 1")
        return Outcome({"totalBytesProcessed": "0"})

    def status(name: str, *, always: bool) -> dict[str, Any]:
        runs.clear()
        configuration = {"jobType": "QUERY", "query": {}, "always": always}
        jobs.create("p", configuration, {"jobId": name}, user="me", handler=handler)
        if (future := jobs.find_running("p", name)) is not None:
            future.result(60)
        job_status: dict[str, Any] = jobs.get("p", name)["status"]
        return job_status

    assert status("once", always=False) == {"state": "DONE"}
    assert len(set(runs)) == 2
    failed = status("always", always=True)["errorResult"]
    assert (failed["reason"], len(runs)) == ("resourcesExceeded", 2)
    assert "Nothing was changed" in failed["message"]


def test_a_job_that_loses_the_process_after_its_commit_does_not_run_again(
    jobs: Jobs, database: Database
) -> None:
    def handler(cursor: Cursor, _: dict[str, Any]) -> Outcome:
        with database.transaction(cursor):
            cursor.execute("CREATE TABLE IF NOT EXISTS t (x INTEGER)")
            cursor.execute("INSERT INTO t VALUES (1)")
        os.kill(process_of(database), signal.SIGKILL)
        cursor.execute("SELECT 1")
        return Outcome({})

    jobs.create(
        "p", {"jobType": "QUERY", "query": {}}, {"jobId": "once"}, user="me", handler=handler
    )
    if (future := jobs.find_running("p", "once")) is not None:
        future.result(60)
    assert (
        "Check whether the job's changes are there"
        in jobs.get("p", "once")["status"]["errorResult"]["message"]
    )
    assert database.rows("SELECT x FROM t") == [(1,)]


@LINUX
def test_a_cancelled_statement_that_hears_nothing_ends_with_its_process(
    jobs: Jobs, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "STUBBORN", 0.3)
    process = psutil.Process(process_of(database))

    def handler(cursor: Cursor, _: dict[str, Any]) -> Outcome:
        cursor.execute(  # one value takes minutes
            "SELECT levenshtein(repeat('ab', 300000) || x, repeat('ba', 300000))"
            " FROM range(1) AS t(x)"
        )
        raise AssertionError("it has ended")

    jobs.create("p", {"jobType": "QUERY", "query": {}}, {"jobId": "j"}, user="me", handler=handler)
    idle = process.cpu_times().user
    while process.cpu_times().user < idle + 0.5:
        time.sleep(0.02)
    future = jobs.find_running("p", "j")
    jobs.cancel("p", "j")
    assert future
    future.result(60)
    assert not process.is_running()
    assert jobs.get("p", "j")["status"]["errorResult"]["reason"] == "stopped"


OPEN = """
import sys, time
from pathlib import Path
from local_cloud.google.bigquery.duckdb.database import Database
database = Database(Path(sys.argv[1]))
with database.transaction() as cursor:
    cursor.execute("CREATE TABLE t (x INTEGER)")
print(database._open_process()._process.pid, flush=True)
time.sleep(600)
"""


def test_the_process_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", OPEN, str(tmp_path)], stdout=subprocess.PIPE, cwd=CHECKOUT
    )
    with server:
        assert server.stdout
        process = int(server.stdout.readline())
        server.kill()
    database = Database(tmp_path)
    assert database.rows("SELECT * FROM t") == []  # and lets the next one have the file
    database.close()
    end = time.monotonic() + 10
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.kill(process, 0)
            time.sleep(0.02)
        pytest.fail("the process is still there")


def test_a_file_that_was_cut_off_is_said_so_and_left_as_it_is(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with database.transaction() as cursor:
        cursor.execute("CREATE TABLE t AS SELECT repeat('x', 50) || x AS y FROM range(9000) t(x)")
    database.close()
    file = tmp_path / "bigquery.duckdb"
    whole = file.read_bytes()
    for kept in (0, 8192, 300_000, len(whole) - 1):
        file.write_bytes(whole[:kept])
        with pytest.raises(Problem, match=r"bigquery\.duckdb.*put a whole copy") as refused:
            database.rows("SELECT count(*) FROM t")
        assert (refused.value.code, refused.value.reason) == (500, "fault")
        assert file.read_bytes() == whole[:kept]
    file.write_bytes(whole)
    assert database.rows("SELECT count(*) FROM t") == [(9000,)]
    database.close()


def test_a_file_that_is_gone_and_left_its_log_is_not_made_anew(tmp_path: Path) -> None:
    (tmp_path / "bigquery.duckdb.wal").write_bytes(b"what was committed")
    with pytest.raises(Problem, match=r"there is .*wal, and not"):
        Database(tmp_path).rows("SELECT 1")
    assert (tmp_path / "bigquery.duckdb.wal").read_bytes() == b"what was committed"


def test_a_folder_that_duckdb_cannot_use_is_named(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="question mark") as refused:
        Database(tmp_path / "a?b").rows("SELECT 1")
    assert refused.value.code == 501


def test_a_folder_with_other_signs_is_as_good_as_any(tmp_path: Path) -> None:
    database = Database(tmp_path / "a*b [c] 'd' %s #e é;")
    assert database.rows("SELECT 1") == [(1,)]
    database.close()
