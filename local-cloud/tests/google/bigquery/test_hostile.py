"""What hostile SQL can reach: nothing of the host, and no name but those that it may use."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
import sqlglot
from google.api_core.exceptions import BadRequest, ClientError, ServerError
from google.cloud import bigquery
from google.cloud.bigquery import ScalarQueryParameter
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.api.types import check_schema
from local_cloud.google.bigquery.catalog.catalog import Name
from local_cloud.google.bigquery.duckdb import generated_sql
from local_cloud.google.bigquery.duckdb.database import Database, encode
from local_cloud.google.bigquery.sql import allow_list, grammar
from local_cloud.google.bigquery.sql.parameters import fill
from local_cloud.google.bigquery.sql.resolve import find_stored
from local_cloud.google.bigquery.sql.statements import parse
from local_cloud.google.bigquery.sql.translate import to_duckdb
from tests.google.bigquery.support import Run

READERS = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_csv_auto('/etc/passwd')",
    "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM `read_text`('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM parquet_metadata('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM `/etc/passwd.csv`",
    "SELECT * FROM `file.csv`",
    "SELECT * FROM d.`../../x.csv`",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM pragma_database_list()",
    "SELECT * FROM catalog.item",
    "SELECT * FROM main.sqlite_master",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('catalog.item')",
    "SELECT getenv('HOME')",
    "SELECT current_setting('temp_directory')",
    "SELECT getvariable('x')",
    "SELECT * FROM UNNEST(glob('/etc/*'))",
    "COPY (SELECT 1) TO '/tmp/x.csv'",
    "COPY d.t FROM '/etc/passwd'",
    "ATTACH '/tmp/x.db' AS x",
    "DETACH bigquery",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET threads = 1",
    "SET enable_external_access = true",
    "CALL pragma_version()",
    "EXPORT DATABASE '/tmp/x'",
    "IMPORT DATABASE '/tmp/x'",
    "CREATE TABLE d.x AS SELECT * FROM read_text('/etc/passwd')",
    "CREATE VIEW d.x AS SELECT * FROM read_text('/etc/passwd')",
    "INSERT INTO d.t SELECT content FROM read_text('/etc/passwd')",
    "CREATE MACRO m() AS TABLE SELECT 1",
    "CREATE EXTERNAL TABLE d.x OPTIONS(format='CSV', uris=['/etc/passwd'])",
    "LOAD DATA INTO d.x FROM FILES(format='CSV', uris=['/etc/passwd'])",
    "DESCRIBE d.t",
    "SHOW TABLES",
    "EXPLAIN SELECT 1",
    "VACUUM",
    "USE catalog",
    """SELECT 'a' COLLATE "nocase, (SELECT MAX(document) FROM catalog.item)" """,
    """SELECT 'a' COLLATE "nocase, CURRENT_SETTING('temp_directory')" """,
    """SELECT COLLATE('a', "nocase, CURRENT_SETTING('temp_directory')")""",
    """SELECT 1 AS x ORDER BY x COLLATE "nocase, CHECKPOINT()" """,
    """SELECT 1 AS r"zz, CURRENT_SETTING('temp_directory')" """,
    """SELECT x FROM UNNEST([1]) AS r"zz), (SELECT CURRENT_SETTING('threads')) AS y(x" """,
    """SELECT 1 AS x, SUM(1) OVER w FROM UNNEST([1]) WINDOW r"w AS (), v" AS (ORDER BY 1)""",
    """SELECT * REPLACE (1 AS r"x, CURRENT_SETTING('threads') AS y") FROM (SELECT 1 AS x)""",
    """SELECT STRUCT(1 AS r"x': CURRENT_SETTING('threads')")""",
    "SELECT x:`a, CURRENT_SETTING('threads')` FROM UNNEST([1]) AS x",
    """SELECT TS_OR_DS_ADD('2026-01-01', 1, "DAY, CURRENT_SETTING('threads')")""",
]


@pytest.mark.parametrize("query", READERS)
def test_what_could_touch_the_host_is_refused(run: Run, query: str) -> None:
    with pytest.raises((ClientError, ServerError)) as refused:
        run(query)
    assert "mistake" not in str(refused.value) and "root:" not in str(refused.value)


@pytest.mark.parametrize("query", ["read_text('/etc/passwd')", "'/etc/passwd.csv'"])
def test_duckdb_itself_would_refuse_what_touches_the_host(tmp_path: Path, query: str) -> None:
    """The checks are one wall; the settings of the database are another."""
    database = Database(tmp_path)
    with database.cursor() as cursor:
        for words in (f"SELECT * FROM {query}", "SET enable_external_access = true"):
            with pytest.raises(Exception, match=r"disabled by configuration|locked"):
                cursor.execute(words)
    database.close()


INJECTED = [
    "CURRENT_SETTING('threads')",
    "system.main.current_setting('threads')",
    "getenv('HOME')",
    "getvariable('x')",
    "nextval('s')",
    "sleep_ms(1)",
    "json_serialize_sql('SELECT 1')",
    "list_transform([1], x -> current_query())",
    "(SELECT MAX(document) FROM catalog.item)",
    "(SELECT MAX(document) FROM bigquery.catalog.item)",
    "(SELECT 1 FROM duckdb_settings)",
    "(SELECT 1 FROM duckdb_settings())",
    "(SELECT 1 FROM main.sqlite_master)",
    "(SELECT 1 FROM information_schema.tables)",
    "(SELECT content FROM read_blob('/etc/passwd'))",
    "(SELECT 1 FROM '/etc/passwd')",
    "(SELECT 1 FROM \"p.d\".t, glob('*'))",
    "(SELECT 1 FROM query('SELECT 1'))",
    "(SELECT 1 FROM checkpoint())",
    "(SELECT 1 FROM pragma_version())",
    "(SELECT 1 FROM arrow_scan(1, 2, 3))",
    "(SELECT 1 FROM (SHOW TABLES))",
    "(SELECT 1 FROM (SELECT 1 FROM x), (WITH x AS (SELECT 1) SELECT 1 FROM x))",
]
INTO = {
    "SELECT": "SELECT 1 AS a, {}",
    "INSERT": 'INSERT INTO "p.d"."t" SELECT 1, {}',
    "UPDATE": 'UPDATE "p.d"."t" SET a = 1, b = {} WHERE a = 1',
    "DELETE": 'DELETE FROM "p.d"."t" WHERE a = {}',
}


@pytest.mark.parametrize("injected", INJECTED)
@pytest.mark.parametrize("kind", INTO)
def test_the_sql_for_duckdb_is_checked_again(kind: str, injected: str) -> None:
    """Even where the first check would have let it pass."""
    with pytest.raises(Problem, match=r"function|table|SHOW_REF"):
        generated_sql.check(INTO[kind].format(injected), kind)
    generated_sql.check(INTO[kind].format("lower('x')"), kind)


def test_what_merge_merges_is_checked_again() -> None:
    fine = "MERGE INTO `p.d`.t USING (SELECT 1 AS x) AS s ON {} WHEN MATCHED THEN UPDATE SET x = {}"
    for hostile in ("getenv('HOME')", "(SELECT x FROM catalog.item)"):
        for parts in ((hostile, "1"), ("TRUE", hostile)):
            with pytest.raises(Problem, match=r"getenv|Invalid table name"):
                to_duckdb(sqlglot.parse_one(fine.format(*parts), read="bigquery"))


def test_the_lists_name_what_sqlglot_has() -> None:
    """A word that is spelt wrong would refuse in silence."""
    listed = allow_list.NODES | allow_list.FUNCTIONS
    unknown = [name for name in listed if not hasattr(exp, name) and not hasattr(grammar, name)]
    assert unknown == []
    assert not {"ReadCSV", "ReadParquet", "Command", "Copy", "Attach", "Set"} & listed


@pytest.mark.parametrize(
    "query",
    [
        "SELECT LENGTH(REPEAT('a', 3000000000))",
        "SELECT LENGTH(REPEAT(s, n)) FROM UNNEST(['ab']) AS s, UNNEST([3000000000]) AS n",
        "SELECT LENGTH(REPEAT(REPEAT('a', 1000000), 1000000))",
        "SELECT LENGTH(LPAD('a', n)), LENGTH(RPAD('a', n, 'b')) FROM UNNEST([2000000000]) AS n",
        "SELECT COUNT(*) FROM UNNEST(GENERATE_ARRAY(1, 300000000))",
        "SELECT GENERATE_TIMESTAMP_ARRAY('2000-01-01', '2020-01-01', INTERVAL 1 SECOND)",
    ],
)
def test_no_value_outgrows_the_memory(run: Run, query: str) -> None:
    with pytest.raises(BadRequest, match=r"output size of 1MB|more than 1048575 elements"):
        run(query)


@given(st.text(max_size=80))
def test_any_text_is_a_statement_or_is_refused(text: str) -> None:
    try:
        parse(text)
    except Problem:
        return


HOSTILE = st.text(max_size=30) | st.lists(
    st.sampled_from(["'", '"', "`", "\\", ";", "--", "/*", "*/", "$$", "\n", "\0", "x", "@p", "?"])
).map("".join)


@given(HOSTILE)
def test_a_parameter_stays_one_value(text: str) -> None:
    """Whatever is in it: DuckDB's parser meets one literal."""
    kind = {"name": "p", "parameterType": {"type": "STRING"}, "parameterValue": {"value": text}}
    sql = to_duckdb(fill(parse("SELECT @p AS p"), [kind]))
    (tree,) = sqlglot.parse(sql, read="duckdb")
    assert isinstance(tree, exp.Select) and len(list(tree.find_all(exp.Literal))) == 1


@given(HOSTILE, HOSTILE.filter(bool))
def test_a_name_stays_one_name(dataset: str, table: str) -> None:
    name = Name("p", dataset, table)
    sql = to_duckdb(exp.select("*").from_(find_stored(name)))
    (table_node,) = sqlglot.parse_one(sql, read="duckdb").find_all(exp.Table)
    assert [part.name for part in table_node.parts] == [name.schema, encode(table)]


@given(
    st.sampled_from(
        [
            "SELECT r'{}'",
            "SELECT b'{}'",
            "SELECT '{}'",
            "SELECT JSON_VALUE('1', '{}')",
            "SELECT 1 AS `{}`",
            "SELECT DATE_TRUNC(CURRENT_DATE, `{}`)",
            "SELECT EXTRACT(`{}` FROM CURRENT_DATE)",
            "SELECT CAST(1 AS `{}`)",
            "SELECT FORMAT_DATE('{}', CURRENT_DATE)",
            "SELECT INTERVAL 1 `{}`",
        ]
    ),
    st.lists(st.sampled_from(["'", '"', "`", "\\", ";", "--", "DROP", " ", ")", "$.a"])).map(
        "".join
    ),
)
def test_nothing_in_a_constant_or_a_name_becomes_a_statement(query: str, text: str) -> None:
    try:
        sql = to_duckdb(parse(query.format(text)))
    except Problem:
        return
    assert [one.type.name for one in duckdb.extract_statements(sql)] == ["SELECT"]


# A text of the user's in each place where it could be written without quotes.
PLACES = """
SELECT 1 AS {}
SELECT 1 AS a, 2 {}
SELECT 'a' COLLATE {}
SELECT COLLATE('a', {})
SELECT a FROM UNNEST([1]) AS a ORDER BY a COLLATE {}
SELECT 1 FROM UNNEST([1]) AS {}
SELECT 1 FROM (SELECT 1 AS a) AS {}
SELECT 1 FROM UNNEST([1]) AS a WITH OFFSET AS {}
SELECT SUM(1) OVER {} FROM UNNEST([1]) WINDOW {} AS (ORDER BY 1)
WITH {} AS (SELECT 1 AS a) SELECT a FROM {}
SELECT * REPLACE (1 AS {}) FROM (SELECT 1 AS a)
SELECT * EXCEPT ({}) FROM (SELECT 1 AS a)
SELECT * FROM (SELECT 1 AS a) PIVOT (SUM(a) AS {} FOR a IN (1 AS {}))
SELECT * FROM (SELECT 1 AS a) UNPIVOT ({} FOR {} IN (a AS {}))
SELECT 1 FROM (SELECT 1 AS a) JOIN (SELECT 1 AS a) USING ({})
SELECT STRUCT(1 AS {})
SELECT CAST(NULL AS STRUCT<{} INT64>)
SELECT CAST(1 AS {})
SELECT a.{} FROM UNNEST([1]) AS a
SELECT a:{} FROM UNNEST([1]) AS a
SELECT TS_OR_DS_ADD('2026-01-01', 1, {})
SELECT DATE_ADD('2026-01-01', INTERVAL 1 {})
SELECT DATE_TRUNC(CURRENT_DATE, {})
SELECT DATE_DIFF(CURRENT_DATE, CURRENT_DATE, {})
SELECT EXTRACT({} FROM CURRENT_DATE)
SELECT FORMAT_DATE({}, CURRENT_DATE)
SELECT CAST('1' AS DATE FORMAT {})
SELECT TIMESTAMP_TRUNC(CURRENT_TIMESTAMP, DAY, {})
SELECT STRING_AGG('a', {})
SELECT NORMALIZE('a', {})
SELECT JSON_VALUE('1', {})
SELECT TRIM('a', {})
SELECT 1 LIMIT {}
""".strip().splitlines()
QUOTED = ('"{}"', "'{}'", "`{}`", 'r"{}"', "r'{}'", 'b"{}"', '"""{}"""', 'r"""{}"""', "{}")
_BEFORE = ["", "nocase", "zz", "a", "DAY", "zz)", "w AS ()", "x'", 'x"', "x`", "x\\", "/*", "1 "]
_CALLS = ["lower('c')", "(SELECT lower('c'))", "(SELECT lower('c')) AS y(x", "(SELECT lower('c')"]
_BETWEEN = [", ", " ", ": ", " AS ", "--", "; SELECT ", " || ", " UNION ALL SELECT ", " COLLATE "]
_AFTER = ["", " AS y", "--", "/*", "*/", "'", '"', ")", ", 'x"]
INSIDE = st.tuples(*(st.sampled_from(one) for one in (_BEFORE, _BETWEEN, _CALLS, _AFTER))).map(
    "".join
)


def _lowers(sql: str) -> int:
    """How many calls of `lower` DuckDB's parser finds."""
    cursor = duckdb.connect()
    (rows,) = cursor.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [sql]).fetchall()[0]
    nodes = [node for node, _ in generated_sql._nodes(json.loads(rows)["statements"])]
    return sum(node.get("function_name") == "lower" for node in nodes)


@settings(max_examples=500)
@given(st.sampled_from(PLACES), st.sampled_from(QUOTED), INSIDE)
def test_no_text_becomes_a_call(place: str, quotes: str, inside: str) -> None:
    """The first check alone: a function that the query only names in a text is not called."""
    query = place.replace("{}", quotes.replace("{}", inside))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generated_sql, "check", lambda *_: None)
        try:
            tree = parse(query)
            sql = to_duckdb(tree)
        except Problem:
            return
    assert tree.find(exp.Lower) or not _lowers(sql)


@given(st.text(max_size=20), st.text(max_size=20))
def test_names_that_differ_are_stored_apart(one: str, other: str) -> None:
    """Also where they differ in case, which DuckDB does not see."""
    if one != other and one.isascii() and other.isascii():
        assert encode(one).lower() != encode(other).lower()


@given(HOSTILE)
def test_a_column_of_a_hostile_name_is_refused_or_quoted(name: str) -> None:
    try:
        (field,) = check_schema([{"name": name, "type": "STRING"}])
    except Problem:
        return
    assert '"' not in field["name"]


@pytest.mark.parametrize("name", ["a'b", "a;b", 'a"b', "a.b", "../x", "x" * 2000, "", "a\x00b"])
def test_hostile_ids_are_refused(client: bigquery.Client, dataset: str, name: str) -> None:
    with pytest.raises((ClientError, ValueError)):
        client.create_dataset(bigquery.DatasetReference(client.project, name))
    reference = bigquery.DatasetReference(client.project, "d").table(name)
    with pytest.raises((ClientError, ValueError)):
        client.create_table(bigquery.Table(reference))


@pytest.mark.parametrize("name", ["../x", 'a"b', "_results", "_x", "a b", "x" * 1100])
def test_a_schema_has_a_datasets_name(run: Run, name: str) -> None:
    with pytest.raises(ClientError, match="Invalid dataset ID"):
        run(f"CREATE SCHEMA `{name}`")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM `bigquery-tests._results.{}`",
        "CREATE TABLE _results.x AS SELECT 1 AS x",
        "INSERT INTO _results.{} VALUES (1)",
        "DROP TABLE _results.{}",
        "DROP SCHEMA _results CASCADE",
    ],
)
def test_the_datasets_of_results_are_hidden(run: Run, client: bigquery.Client, query: str) -> None:
    job = client.query("SELECT 1 AS x")
    job.result()
    with pytest.raises(ClientError, match=r"Dataset bigquery-tests:_results|Invalid dataset ID"):
        run(query.replace("{}", job.destination.table_id))
    config = bigquery.QueryJobConfig(destination="bigquery-tests._results.x")
    with pytest.raises(ClientError, match="Dataset bigquery-tests:_results"):
        client.query("SELECT 1 AS x", job_config=config).result()
    assert len(list(job.result())) == 1


def test_a_hostile_value_comes_back_as_it_was(run: Run) -> None:
    text = "'; DROP SCHEMA catalog CASCADE; --\\' \" ` $$ \n é 🜁"
    assert run("SELECT @p", ScalarQueryParameter("p", "STRING", text)) == [(text,)]


def test_a_query_that_is_nested_too_deeply_is_refused(run: Run) -> None:
    with pytest.raises(ClientError, match=r"nested too deeply|Syntax error"):
        run("SELECT " + "(" * 3000 + "1" + ")" * 3000)


def test_a_query_of_too_many_words_is_refused_before_it_is_read(run: Run) -> None:
    with pytest.raises(ClientError, match=r"has 200004 words.*at most 50000 are possible here"):
        run(f"SELECT 1 IN ({','.join(map(str, range(100_000)))})")
    text = ", ".join(["a"] * 60_000)  # one constant
    assert run(f"SELECT LENGTH('{text}')") == [(len(text),)]


def test_views_that_double_each_other_are_counted_as_they_are_read(run: Run) -> None:
    run("CREATE VIEW v0 AS SELECT 1 AS a")
    with pytest.raises(ClientError, match=r"with its views it has \d+ words"):
        for number in range(1, 16):
            before = f"v{number - 1}"
            run(f"CREATE VIEW v{number} AS SELECT x.a FROM {before} x JOIN {before} y ON x.a = y.a")
    assert run("SELECT a FROM v4") == [(1,)]


def test_another_project_is_read_only_by_its_name(run: Run, client: bigquery.Client) -> None:
    """There are no permissions here: whoever has the secret reads every project."""
    run("CREATE TABLE t AS SELECT 1 AS x")
    other = bigquery.Client(project="another")
    rows = other.query_and_wait("SELECT x FROM `bigquery-tests.d.t`")
    assert [row.x for row in rows] == [1]
    with pytest.raises(ClientError, match="Dataset another:d was not found"):
        other.query_and_wait("SELECT x FROM d.t")
