"""Jobs run in threads, and end when they are cancelled, whatever they do just then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.catalog.catalog import Catalog
from local_cloud.google.bigquery.catalog.outcome import Cursor, Outcome
from local_cloud.google.bigquery.duckdb.database import Database
from local_cloud.google.bigquery.jobs.jobs import Jobs
from local_cloud.google.bigquery.sql.statements import parse
from local_cloud.google.bigquery.sql.translate import name_columns, to_duckdb
from local_cloud.store.records import Records

FOR_EVER = "SELECT sum(a.range * b.range) FROM range(1000000000) AS a, range(1000000000) AS b"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    records, database = Records(tmp_path / "records.sqlite"), Database(tmp_path)
    yield Jobs(records, database, Catalog(database))
    database.close()
    records.close()


class Between:
    """A job between two of its statements, such as while its query is translated."""

    def __init__(self) -> None:
        self.there, self.cancelled = threading.Event(), threading.Event()

    def __call__(self, cursor: Cursor, document: dict[str, Any]) -> Outcome:
        self.there.set()
        assert self.cancelled.wait(30)
        cursor.execute(FOR_EVER).fetchall()
        raise AssertionError("for ever has ended")


@pytest.mark.parametrize("end", ["cancel", "close"])
def test_a_job_that_is_cancelled_between_two_statements_ends(jobs: Jobs, end: str) -> None:
    handler = Between()
    document = jobs.create(
        "p", {"jobType": "QUERY", "query": {}}, {"jobId": "j"}, user="me", handler=handler
    )
    assert handler.there.wait(30)
    ending = threading.Thread(target=jobs.close) if end == "close" else None
    if ending:
        ending.start()
    else:
        jobs.cancel("p", "j")
    handler.cancelled.set()
    if (future := jobs.find_running("p", "j")) is not None:
        future.result(30)
    status = jobs.get("p", document["jobReference"]["jobId"])["status"]
    assert (status["state"], status["errorResult"]["reason"]) == ("DONE", "stopped")
    jobs.close()


def test_a_query_that_is_cancelled_is_translated_no_further() -> None:
    tree = parse(f"SELECT {', '.join(f'{x} AS c{x}' for x in range(1000))}")
    steps = 0

    def check() -> None:
        nonlocal steps
        steps += 1
        if steps == 10:
            raise Problem(499, "stopped", "cancelled")

    with pytest.raises(Problem, match="cancelled"):
        to_duckdb(tree, (), check)
    assert steps == 10


def test_more_columns_than_bigquery_has_are_refused_before_they_are_translated() -> None:
    tree = parse(f"SELECT {', '.join(f'{x} AS c{x}' for x in range(10_001))}")
    with pytest.raises(Problem, match="10001 columns; the maximum is 10000"):
        name_columns(tree)
