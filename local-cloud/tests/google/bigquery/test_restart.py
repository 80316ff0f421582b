"""What BigQuery has acknowledged is there after a kill, and a job cut short says so."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from google.api_core.exceptions import Conflict
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from local_cloud.client import control
from local_cloud.client.home import Home


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    """A local cloud of this test's own, to be killed."""
    home = Home(tmp_path / "home")
    yield home
    control.stop(home)


def connected(home: Home) -> bigquery.Client:
    server = control.start(home)
    return bigquery.Client(
        project="p",
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": server.url},
    )


def kill(home: Home) -> None:
    os.kill(home.address()["pid"], signal.SIGKILL)
    while home.running():
        time.sleep(0.02)


def kill_with_queries(home: Home) -> None:
    """Kill the server's processes, the one in which queries run first."""
    for process in psutil.Process(home.address()["pid"]).children():
        process.kill()
    kill(home)


def test_all_rows_are_there_after_a_table_was_dropped_and_everything_was_killed(own: Home) -> None:
    client = connected(own)
    client.create_dataset("d")
    client.query_and_wait("CREATE TABLE d.kept AS SELECT 1 AS x")
    control.stop(own)
    connected(own).query_and_wait(
        "CREATE TABLE d.dropped AS SELECT SIN(x) AS x FROM UNNEST(GENERATE_ARRAY(1, 300000)) AS x"
    )
    control.stop(own)
    connected(own).query_and_wait("DROP TABLE d.dropped")
    control.stop(own)
    assert not connected(own).insert_rows_json("d.kept", [{"x": 2}])
    control.stop(own)  # now the file is shorter, and its header counts the blocks that it had
    assert not connected(own).insert_rows_json("d.kept", [{"x": 3}])
    kill_with_queries(own)
    rows = connected(own).query_and_wait("SELECT x FROM d.kept ORDER BY x")
    assert [row.x for row in rows] == [1, 2, 3]


def test_nothing_that_was_acknowledged_is_lost_by_a_kill(own: Home) -> None:
    client = connected(own)
    client.create_dataset("d")
    client.query_and_wait("CREATE TABLE d.t (x INT64)")
    client.query_and_wait(
        "CREATE MODEL d.m OPTIONS(model_type='linear_reg', input_label_cols=['y']) AS"
        " SELECT x, 2 * x AS y FROM UNNEST([1, 2, 3, 4]) AS x"
    )
    acknowledged: list[int] = []
    enough = threading.Event()

    def insert() -> None:
        with contextlib.suppress(Exception):  # the server is killed meanwhile
            for x in range(10_000):
                client.query_and_wait(f"INSERT INTO d.t VALUES ({x})", job_retry=None, retry=None)
                acknowledged.append(x)
                if x == 5:
                    enough.set()

    thread = threading.Thread(target=insert)
    thread.start()
    assert enough.wait(60)
    many = "UNNEST(GENERATE_ARRAY(1, 100000))"
    long = client.query(f"SELECT SUM(a * b * c) AS s FROM {many} AS a, {many} AS b, {many} AS c")
    done = client.query("SELECT 7 AS x")
    done.result()
    kill(own)
    thread.join()

    client = connected(own)
    rows = {row.x for row in client.query_and_wait("SELECT x FROM d.t")}
    assert set(acknowledged) <= rows
    assert len(rows) <= len(acknowledged) + 1  # one may have been on its way back
    again = client.get_job(long.job_id)
    assert again.state == "DONE"
    assert "was stopped while the job ran" in again.error_result["message"]
    assert [row.x for row in client.get_job(done.job_id).result()] == [7]
    predicted = "SELECT predicted_y FROM ML.PREDICT(MODEL d.m, (SELECT 10 AS x))"
    assert [round(row[0], 6) for row in client.query_and_wait(predicted)] == [20]
    client.query_and_wait("INSERT INTO d.t VALUES (-1)")


def test_an_upload_that_nobody_ends_or_whose_job_is_refused_does_not_stay(own: Home) -> None:
    client = connected(own)
    client.create_dataset("d")
    settings = bigquery.LoadJobConfig(autodetect=True, source_format="CSV")

    def load(name: str) -> None:
        body = io.BytesIO(b"a\n1\n")
        client.load_table_from_file(body, "d.t", job_id=name, job_config=settings).result()

    load("one")
    with pytest.raises(Conflict, match="Already Exists"):
        load("one")
    (folder,) = own.data.rglob("uploads")
    assert list(folder.iterdir()) == []
    week = 7 * 24 * 3600
    for name, age in (("old", week + 60), ("new", week - 60)):  # both begun, and not ended
        for kind in ("data", "json"):
            path = folder / f"{name}.{kind}"
            path.touch()
            os.utime(path, (time.time() - age,) * 2)
    kill(own)
    control.start(own)
    assert {path.name for path in folder.iterdir()} == {"new.data", "new.json"}
