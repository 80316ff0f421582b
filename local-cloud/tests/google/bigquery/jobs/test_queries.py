"""Queries with the real client: values and types, parameters, pages, views, changes of rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from dateutil.relativedelta import relativedelta
from google.api_core.exceptions import (
    BadRequest,
    GoogleAPICallError,
    MethodNotImplemented,
    NotFound,
)
from google.cloud import bigquery
from google.cloud.bigquery import ArrayQueryParameter, ScalarQueryParameter

from tests.google.bigquery.support import Run

# What the client says of its own future.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Retrieving DataFrames via:PendingDeprecationWarning"
)
VALUES = [
    ("1", 1, "INTEGER"),
    ("2147483647 + 1", 2**31, "INTEGER"),
    ("1.5", 1.5, "FLOAT"),
    ("1 / 2", 0.5, "FLOAT"),
    ("DIV(7, 2)", 3, "INTEGER"),
    ("MOD(7, 2)", 1, "INTEGER"),
    ("NUMERIC '1.25'", Decimal("1.25"), "NUMERIC"),
    ("'a'", "a", "STRING"),
    ("b'\\x00a'", b"\0a", "BYTES"),
    ("TRUE", True, "BOOLEAN"),
    ("DATE '2026-01-31'", dt.date(2026, 1, 31), "DATE"),
    ("TIME '10:00:00.5'", dt.time(10, 0, 0, 500000), "TIME"),
    ("DATETIME '2026-01-31 10:00:00'", dt.datetime(2026, 1, 31, 10), "DATETIME"),
    (
        "TIMESTAMP '2026-01-31 10:00:00+01'",
        dt.datetime(2026, 1, 31, 9, tzinfo=dt.UTC),
        "TIMESTAMP",
    ),
    ("[1, 2]", [1, 2], "INTEGER"),
    ("STRUCT(1 AS a, ['x'] AS b)", {"a": 1, "b": ["x"]}, "RECORD"),
    ("JSON '{\"a\": 1}'", {"a": 1}, "JSON"),
    ("CAST(NULL AS STRING)", None, "STRING"),
    ("CAST('NaN' AS FLOAT64) IS NULL", False, "BOOLEAN"),
    ("SAFE_CAST('x' AS INT64)", None, "INTEGER"),
    ("SAFE_DIVIDE(1, 0)", None, "FLOAT"),
    ("IF(1 > 2, 'a', 'b')", "b", "STRING"),
    ("CONCAT('a', 'b')", "ab", "STRING"),
    ("SUBSTR('hello', 2, 3)", "ell", "STRING"),
    ("SPLIT('a,b')", ["a", "b"], "STRING"),
    ("REGEXP_EXTRACT('a12', r'[0-9]+')", "12", "STRING"),
    ("REGEXP_CONTAINS('abc', 'b')", True, "BOOLEAN"),
    ("STARTS_WITH('abc', 'ab')", True, "BOOLEAN"),
    ("LENGTH('häß')", 3, "INTEGER"),
    ("FORMAT_DATE('%d.%m.%Y', DATE '2026-01-31')", "31.01.2026", "STRING"),
    ("PARSE_DATE('%Y%m%d', '20260131')", dt.date(2026, 1, 31), "DATE"),
    ("DATE_ADD(DATE '2026-01-31', INTERVAL 1 MONTH)", dt.date(2026, 2, 28), "DATE"),
    ("DATE_DIFF(DATE '2026-02-01', DATE '2026-01-31', DAY)", 1, "INTEGER"),
    ("DATE_TRUNC(DATE '2026-01-31', MONTH)", dt.date(2026, 1, 1), "DATE"),
    ("EXTRACT(YEAR FROM DATE '2026-01-31')", 2026, "INTEGER"),
    ("EXTRACT(DAYOFWEEK FROM DATE '2026-02-01')", 1, "INTEGER"),
    ("TIMESTAMP_SECONDS(0)", dt.datetime(1970, 1, 1, tzinfo=dt.UTC), "TIMESTAMP"),
    ("GENERATE_ARRAY(1, 3)", [1, 2, 3], "INTEGER"),
    ("ARRAY_LENGTH([1, 2])", 2, "INTEGER"),
    ("[10, 20][OFFSET(1)]", 20, "INTEGER"),
    ("[10, 20][SAFE_OFFSET(5)]", None, "INTEGER"),
    ("ARRAY(SELECT x * 2 FROM UNNEST([1, 2]) AS x ORDER BY x DESC)", [4, 2], "INTEGER"),
    ("TO_HEX(MD5('a'))", "0cc175b9c0f1b6a831c399e269772661", "STRING"),
    ('JSON_VALUE(\'{"a": {"b": "x"}}\', \'$.a.b\')', "x", "STRING"),
    ("ROUND(2.5)", 3.0, "FLOAT"),
    ("ROUND(1234.5, -2)", 1200.0, "FLOAT"),
    ("TRUNC(1234.5, -2)", 1200.0, "FLOAT"),
    (
        "ARRAY(SELECT ARRAY_LENGTH(ARRAY(SELECT y FROM UNNEST([7, 8, 9]) AS y WITH OFFSET"
        " WHERE offset < 2)) + offset FROM UNNEST([1, 1]) AS x WITH OFFSET ORDER BY 1)",
        [2, 3],
        "INTEGER",
    ),
    ("CAST(2.5 AS INT64)", 3, "INTEGER"),
    ("SAFE.PARSE_DATE('%Y', 'x')", None, "DATE"),
    ("COALESCE(NULL, 2)", 2, "INTEGER"),
    ("GREATEST(1, 2)", 2, "INTEGER"),
    ("(SELECT COUNT(*) FROM UNNEST([1, 2]))", 2, "INTEGER"),
    ("(SELECT STRING_AGG(x, '-' ORDER BY x) FROM UNNEST(['b', 'a']) AS x)", "a-b", "STRING"),
    ("(SELECT ARRAY_AGG(x IGNORE NULLS) FROM UNNEST([1, NULL]) AS x)", [1], "INTEGER"),
    ("(SELECT COUNTIF(x > 1) FROM UNNEST([1, 2]) AS x)", 1, "INTEGER"),
    ("(SELECT SUM(x) FROM UNNEST([1, 2]) AS x)", 3, "INTEGER"),
    ("(SELECT AVG(x) FROM UNNEST([1, 2]) AS x)", 1.5, "FLOAT"),
    ("(SELECT SUM(x) / COUNT(*) FROM UNNEST([1, 2]) AS x)", 1.5, "FLOAT"),
    ("(SELECT AVG(NUMERIC '3'))", Decimal(3), "NUMERIC"),
    ("INTERVAL 14 MONTH", relativedelta(years=1, months=2), "INTERVAL"),
    ("FORMAT('%d-%s', 5, 'x')", "5-x", "STRING"),
    ("FORMAT('%05.1f|%t', 2.55, DATE '2026-01-31')", "002.5|2026-01-31", "STRING"),
    ("NUMERIC '1.123456789'", Decimal("1.123456789"), "NUMERIC"),
    ("NUMERIC '10' / NUMERIC '3'", Decimal("3.333333333"), "NUMERIC"),
    ("NUMERIC '1.5' * NUMERIC '2'", Decimal(3), "NUMERIC"),
    ("(SELECT SUM(CAST(x AS INT64)) FROM UNNEST([2.5, -3.5]) AS x)", -1, "INTEGER"),
    ("CAST(100.0 AS STRING)", "100", "STRING"),
    ("CAST(NUMERIC '22222.1' AS STRING)", "22222.1", "STRING"),
    ("SAFE.SQRT(-1)", None, "FLOAT"),
    ("SUBSTR('abc', 0, 2)", "ab", "STRING"),
    ("'a%b' LIKE 'a\\\\%b'", True, "BOOLEAN"),
    ("TIMESTAMP_DIFF('2026-01-02 00:00:00', '2026-01-01 23:59:00', HOUR)", 0, "INTEGER"),
    ("FORMAT_TIMESTAMP('%H', TIMESTAMP '2026-01-01 10:00:00', 'Asia/Tokyo')", "19", "STRING"),
    ("FORMAT_TIMESTAMP('%e %Z', TIMESTAMP '2026-01-05 10:00:00')", " 5 UTC", "STRING"),
    (
        "PARSE_TIMESTAMP('%Y-%m-%d %H', '2026-01-01 10', 'Asia/Tokyo')",
        dt.datetime(2026, 1, 1, 1, tzinfo=dt.UTC),
        "TIMESTAMP",
    ),
    ("TIMESTAMP_MILLIS(1000)", dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC), "TIMESTAMP"),
    ("TIMESTAMP_MICROS(0)", dt.datetime(1970, 1, 1, tzinfo=dt.UTC), "TIMESTAMP"),
    ("DATE_FROM_UNIX_DATE(9)", dt.date(1970, 1, 10), "DATE"),
    ("EXTRACT(MILLISECOND FROM TIME '10:00:01.234567')", 234, "INTEGER"),
    ("EXTRACT(MICROSECOND FROM TIME '10:00:01.234567')", 234567, "INTEGER"),
    (
        "STRING(TIMESTAMP '2026-01-01 10:00:00', 'Asia/Tokyo')",
        "2026-01-01 19:00:00+09",
        "STRING",
    ),
    ("DATE '2026-01-31' + 1", dt.date(2026, 2, 1), "DATE"),
    ("JSON_QUERY('{\"a\": [1]}', '$.a')", "[1]", "STRING"),
    ("JSON_TYPE(JSON '1')", "number", "STRING"),
    ("BYTE_LENGTH('é')", 2, "INTEGER"),
    ("SESSION_USER()", "user@local-cloud", "STRING"),
]


@pytest.fixture(scope="session")
def typed_values(client: bigquery.Client) -> list[tuple[Any, str]]:
    """Every value of the list and its type, from one query."""
    columns = ", ".join(f"{text} AS c{place}" for place, (text, _, _) in enumerate(VALUES))
    rows = client.query_and_wait(f"SELECT {columns}")
    types = [one.field_type for one in rows.schema]
    (row,) = rows
    return list(zip(row.values(), types, strict=True))


@pytest.mark.parametrize("place", range(len(VALUES)), ids=[text for text, _, _ in VALUES])
def test_values_have_bigquerys_types(typed_values: list[tuple[Any, str]], place: int) -> None:
    assert typed_values[place] == VALUES[place][1:]


def test_columns_without_a_name_get_bigquerys(run: Run) -> None:
    names = [one.name for one in run.iterate("SELECT 1, 2 AS b, 3").schema]
    assert names == ["f0_", "b", "f1_"]
    with pytest.raises(BadRequest, match="Duplicate column names"):
        run("SELECT 1 AS a, 2 AS A")


def test_texts_and_arrays_are_repeated_and_generated(run: Run) -> None:
    query = """SELECT REPEAT('ab', 3), LPAD('a', 4), RPAD('a', 4, 'xy'), LPAD('abc', 2),
        REPEAT(REPEAT('a', 2), 2), REPEAT(NULL, 2), GENERATE_ARRAY(1, 5), GENERATE_ARRAY(10, 1, -4),
        GENERATE_ARRAY(0, 1, 0.5), ARRAY_LENGTH(GENERATE_DATE_ARRAY('2020-01-01', '2020-01-03')),
        ARRAY_LENGTH(GENERATE_TIMESTAMP_ARRAY('2020-01-01', '2020-01-02', INTERVAL 12 HOUR))"""
    (row,) = run(query)
    assert row[:6] == ("ababab", "   a", "axyx", "ab", "aaaa", None)
    assert row[6:] == ([1, 2, 3, 4, 5], [10, 6, 2], [0, 0.5, 1.0], 3, 3)


def test_nulls_come_first(run: Run) -> None:
    assert run("SELECT x FROM UNNEST([2, NULL, 1]) AS x ORDER BY x") == [(None,), (1,), (2,)]
    assert run("SELECT x FROM UNNEST([2, NULL]) AS x ORDER BY x DESC") == [(2,), (None,)]


def test_with_offset_counts_from_zero(run: Run) -> None:
    query = "SELECT place, x FROM UNNEST(['a', 'b']) AS x WITH OFFSET AS place ORDER BY place"
    assert run(query) == [(0, "a"), (1, "b")]
    query = "SELECT x FROM UNNEST(['a', 'b']) AS x WITH OFFSET WHERE offset = 1"
    assert run(query) == [("b",)]


def test_arrays_of_a_row_are_joined_with_it(run: Run) -> None:
    run("CREATE TABLE t AS SELECT 1 AS id, ['a', 'b'] AS tags, [STRUCT(5 AS n)] AS parts")
    assert run("SELECT id, tag FROM t, UNNEST(tags) AS tag ORDER BY tag") == [(1, "a"), (1, "b")]
    assert run("SELECT id, tag FROM t, t.tags AS tag ORDER BY tag") == [(1, "a"), (1, "b")]
    assert run("SELECT p.n FROM t, UNNEST(parts) AS p") == [(5,)]
    assert run("SELECT id FROM t WHERE 'a' IN UNNEST(tags)") == [(1,)]


def test_parameters_are_values_and_never_sql(run: Run) -> None:
    day = dt.date(2026, 1, 1)
    query = "SELECT @s AS s, @n AS n, @d AS d, @many AS many, @none AS none"
    assert run(
        query,
        ScalarQueryParameter("s", "STRING", "'; DROP TABLE t; --"),
        ScalarQueryParameter("n", "INT64", 5),
        ScalarQueryParameter("d", "DATE", day),
        ArrayQueryParameter("many", "STRING", ["a", "b'"]),
        ScalarQueryParameter("none", "FLOAT64", None),
    ) == [("'; DROP TABLE t; --", 5, day, ["a", "b'"], None)]
    assert run(
        "SELECT x FROM UNNEST([1, 2, 3]) AS x WHERE x > ? AND x IN UNNEST(?)",
        ScalarQueryParameter(None, "INT64", 1),
        ArrayQueryParameter(None, "INT64", [3]),
    ) == [(3,)]
    with pytest.raises(BadRequest, match="Query parameter 'n' not found"):
        run("SELECT @n")


def test_positional_parameters_have_the_order_of_the_text(run: Run) -> None:
    query = "SELECT ? AS a FROM UNNEST([1, 2, 3]) AS x WHERE x > ? ORDER BY x LIMIT ?"
    values = [ScalarQueryParameter(None, "INT64", one) for one in (100, 1, 2)]
    assert run(query, *values) == [(100,), (100,)]
    query = "WITH w AS (SELECT ? AS a) SELECT a, ? AS b, IF(? = 3, ?, 0) AS c FROM w WHERE a < ?"
    values = [ScalarQueryParameter(None, "INT64", one) for one in (1, 2, 3, 4, 5)]
    assert run(query, *values) == [(1, 2, 4)]
    with pytest.raises(BadRequest, match="not enough positional parameters"):
        run(query, *values[:4])
    with pytest.raises(BadRequest, match="5 positional parameters, but 6 were given"):
        run(query, *values, values[0])


def test_rows_are_changed(run: Run) -> None:
    run("CREATE TABLE t (id INT64 NOT NULL, name STRING)")
    assert run.iterate("INSERT INTO t VALUES (1, 'a'), (2, 'b')").num_dml_affected_rows == 2
    assert run.iterate("UPDATE t SET name = 'c' WHERE id = 1").num_dml_affected_rows == 1
    run(
        "MERGE t USING (SELECT 2 AS id UNION ALL SELECT 3) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET name = 'm'"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'n')"
    )
    assert run("SELECT * FROM t ORDER BY id") == [(1, "c"), (2, "m"), (3, "n")]
    assert run.iterate("DELETE FROM t WHERE id = 2").num_dml_affected_rows == 1
    assert run.iterate("DELETE t WHERE id > 1").num_dml_affected_rows == 1
    with pytest.raises(BadRequest, match="must have a WHERE clause"):
        run("DELETE FROM t")
    with pytest.raises(BadRequest, match="cannot be null"):
        run("INSERT INTO t (name) VALUES ('x')")
    run("TRUNCATE TABLE t")
    assert run("SELECT count(*) FROM t") == [(0,)]


def test_tables_are_made_and_dropped(run: Run, client: bigquery.Client) -> None:
    run("CREATE TABLE t (id INT64 NOT NULL, at STRUCT<x FLOAT64>, tags ARRAY<STRING>)")
    schema = client.get_table("d.t").schema
    assert [(one.field_type, one.mode) for one in schema] == [
        ("INTEGER", "REQUIRED"),
        ("RECORD", "NULLABLE"),
        ("STRING", "REPEATED"),
    ]
    run("CREATE TABLE IF NOT EXISTS t (x INT64)")
    run("CREATE OR REPLACE TABLE t AS SELECT 1 AS x, 'a' AS y")
    run("ALTER TABLE t ADD COLUMN z FLOAT64")
    run("ALTER TABLE t DROP COLUMN y")
    assert run("SELECT * FROM t") == [(1, None)]
    run("CREATE TABLE u COPY t")
    assert run("SELECT x FROM u") == [(1,)]
    run("DROP TABLE t")
    run("DROP TABLE IF EXISTS t")
    with pytest.raises(NotFound, match=r"Table bigquery-tests:d\.t was not found"):
        run("SELECT * FROM t")


def test_views_and_the_information_schema(run: Run, client: bigquery.Client) -> None:
    run("CREATE TABLE t AS SELECT 1 AS x")
    run("CREATE VIEW v AS WITH w AS (SELECT x + 1 AS y FROM t) SELECT * FROM w")
    view = bigquery.Table("bigquery-tests.d.v2")
    view.view_query = "SELECT y * 10 AS z FROM d.v"
    client.create_table(view)
    assert run("SELECT z FROM v2") == [(20,)]
    assert run("SELECT table_name, table_type FROM d.INFORMATION_SCHEMA.TABLES ORDER BY 1") == [
        ("t", "BASE TABLE"),
        ("v", "VIEW"),
        ("v2", "VIEW"),
    ]
    query = "SELECT column_name, data_type FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 't'"
    assert run(query) == [("x", "INT64")]


def test_a_result_is_read_in_pages(run: Run, client: bigquery.Client) -> None:
    job = client.query("SELECT x FROM UNNEST(GENERATE_ARRAY(1, 25000)) AS x ORDER BY x")
    rows = job.result(page_size=7000)
    pages = [[row.x for row in page] for page in rows.pages]
    assert [len(page) for page in pages] == [7000, 7000, 7000, 4000]
    assert [x for page in pages for x in page] == list(range(1, 25001))
    assert len(list(job.result())) == 25000
    assert len(job.to_dataframe()) == 25000


def test_a_query_can_be_tried_without_being_run(run: Run, client: bigquery.Client) -> None:
    run("CREATE TABLE t AS SELECT x, 'abc' AS y FROM UNNEST([1, 2]) AS x")
    config = bigquery.QueryJobConfig(dry_run=True)
    job = client.query("SELECT x FROM d.t", job_config=config)
    assert (job.state, job.total_bytes_processed) == ("DONE", 16)
    job = client.query("SELECT * FROM d.t", job_config=config)
    assert job.total_bytes_processed == 26
    with pytest.raises(BadRequest, match="Unrecognized name: z"):
        client.query("SELECT z FROM d.t", job_config=config)


def test_a_destination_takes_the_rows(run: Run, client: bigquery.Client) -> None:
    config = bigquery.QueryJobConfig(
        destination="bigquery-tests.d.out", write_disposition="WRITE_APPEND"
    )
    for _ in range(2):
        client.query("SELECT 1 AS x", job_config=config).result()
    assert run("SELECT * FROM out") == [(1,), (1,)]


def test_a_query_is_not_billed_for_more_than_its_limit(run: Run, client: bigquery.Client) -> None:
    run("CREATE TABLE t AS SELECT 1 AS x")
    config = bigquery.QueryJobConfig(maximum_bytes_billed=1)
    job = client.query("SELECT x FROM d.t", job_config=config)
    # The client raises what getQueryResults answers (400); a job that it already knows to have
    # failed, with a reason that it does not know, it raises as a 500.
    with pytest.raises(GoogleAPICallError, match="exceeded limit for bytes billed: 1"):
        job.result()
    job.reload()
    assert job.error_result["reason"] == "bytesBilledLimitExceeded"


def test_a_table_is_partitioned_as_it_says(run: Run, client: bigquery.Client) -> None:
    run("CREATE TABLE t (x TIMESTAMP) PARTITION BY TIMESTAMP_TRUNC(x, HOUR)")
    partitioning = client.get_table("d.t").time_partitioning
    assert (partitioning.type_, partitioning.field) == ("HOUR", "x")


def test_a_query_fills_listed_columns_by_position(run: Run) -> None:
    run("CREATE TABLE t (b INT64, a INT64) AS SELECT 1 AS a, 2 AS b")
    assert run("SELECT a, b FROM t") == [(2, 1)]
    run("CREATE OR REPLACE TABLE t (a INT64, b STRING) AS SELECT 1, 'x'")
    assert run("SELECT a, b FROM t") == [(1, "x")]
    with pytest.raises(BadRequest, match="the list has 1 columns, and the query 2"):
        run("CREATE OR REPLACE TABLE t (a INT64) AS SELECT 1, 2")


def test_a_table_that_is_replaced_keeps_nothing(run: Run, client: bigquery.Client) -> None:
    run("CREATE TABLE t (d DATE, x INT64) PARTITION BY d CLUSTER BY x OPTIONS(description='old')")
    run("CREATE OR REPLACE TABLE t AS SELECT 1 AS z")
    table = client.get_table("d.t")
    assert (table.time_partitioning, table.clustering_fields, table.description) == (None,) * 3
    run("CREATE VIEW v AS SELECT 1 AS x")
    with pytest.raises(BadRequest, match="cannot be replaced: it is currently a VIEW"):
        run("CREATE OR REPLACE TABLE v (x INT64)")
    assert run("SELECT x FROM v") == [(1,)]


def test_jobs_are_listed_and_known_by_their_id(run: Run, client: bigquery.Client) -> None:
    job = client.query("SELECT 1 AS x", job_id_prefix="of-tests-")
    job.result()
    assert job.job_id in [one.job_id for one in client.list_jobs(max_results=5)]
    again = client.get_job(job.job_id)
    assert (again.state, again.statement_type) == ("DONE", "SELECT")
    assert [row.x for row in again.result()] == [1]
    with pytest.raises(NotFound, match="Not found: Job"):
        client.get_job("none")


def test_a_long_query_is_cancelled_and_stalls_nobody(run: Run, client: bigquery.Client) -> None:
    many = "UNNEST(GENERATE_ARRAY(1, 100000))"
    job = client.query(f"SELECT SUM(a * b) AS s FROM {many} AS a, {many} AS b, {many} AS c")
    assert run("SELECT 1") == [(1,)]
    job.cancel()
    with pytest.raises(GoogleAPICallError, match="Job execution was cancelled"):
        job.result()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELEC 1", "Syntax error"),
        ("", "Syntax error|query"),
        ("SELECT", "Syntax error"),
        ("SELECT (1", "Syntax error"),
        ("SELECT * FROM unqualified.t.x.y", "Invalid table name"),
        ("SELECT nofunction(1)", "Function not found: nofunction"),
        ("SELECT 1 FROM UNNEST([1]) AS x GROUP BY y", "Unrecognized name: y"),
        ("SELECT CAST('x' AS INT64)", "x"),
        ("SELECT 1/0", "division by zero"),
        ("SELECT ERROR('mine')", "mine"),
        ("SELECT SQRT(-1)", "Floating point error in function: SQRT"),
        ("SELECT LN(0)", "Floating point error in function: LN"),
        ("SELECT EXP(1000)", "Floating point error in function: EXP"),
        ("SELECT SUBSTR('a', 0, -1)", "cannot be negative"),
        ("SELECT REGEXP_EXTRACT('abc1', '(c)(1)')", "more than 1 capturing group"),
        ("SELECT x / (y / 1) FROM (SELECT 1 AS x, 0 AS y)", "division by zero"),
        ("SELECT [1][OFFSET(5)]", "Array index 5 is out of bounds"),
        ("SELECT [1, NULL]", "Array cannot have a null element"),
        ("SELECT CAST('yes' AS BOOL)", "Bad bool value: yes"),
        ("CREATE TABLE d.x (id INT64) PARTITION BY nope", "Unrecognized name: nope"),
        ("CREATE TABLE d.x (id INT64) CLUSTER BY nope", "Unrecognized name: nope"),
        ("CREATE TABLE d.x (id INT64) PARTITION BY 5", "PARTITION BY expression must be"),
    ],
)
def test_a_mistake_is_named(run: Run, query: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        run(query)


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("DECLARE x INT64; SELECT x", "scripts of several statements"),
        ("BEGIN TRANSACTION", "statement"),
        ("EXPORT DATA OPTIONS(uri='gs://b/x') AS SELECT 1", "statement EXPORT"),
        ("SELECT INSTR('banana', 'an', -1, 2)", "INSTR"),
        ("SELECT APPROX_TOP_COUNT(x, 1) FROM UNNEST(['a']) AS x", "function APPROX_TOP_COUNT"),
        ("CREATE TABLE d.x LIKE d.y", "CREATE TABLE … LIKE"),
        ("CREATE TEMP TABLE x AS SELECT 1 AS a", "temporary tables"),
        ("SELECT * FROM `d.events_*`", "wildcard tables"),
        ("SELECT * FROM d.__TABLES__", "__TABLES__"),
        ("SELECT @@project_id", "the system variable @@project_id"),
        ("#legacySQL\nSELECT 1", "legacy SQL"),
        ("SELECT * FROM UNNEST([1]) AS x WITH OFFSET", r"SELECT \* of UNNEST"),
        ("CREATE FUNCTION d.f(x INT64) AS (x + 1)", "statement CREATE FUNCTION"),
        ("SELECT SUM(NUMERIC '19.99') * 2", "products of aggregates of NUMERIC"),
        ("CREATE VIEW d.v (a) AS SELECT 1", "names of a view's columns"),
        (
            "SELECT (SELECT MAX(n) FROM (SELECT 7 AS n)) FROM UNNEST([1]) AS x WITH OFFSET AS n",
            "a column n in a query inside one WITH OFFSET",
        ),
    ],
)
def test_what_is_missing_is_refused_by_name(run: Run, query: str, what: str) -> None:
    with pytest.raises(MethodNotImplemented, match=f"not implemented in the local cloud: {what}"):
        run(query)
