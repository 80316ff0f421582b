"""What hostile SQL can reach: nothing of the host, and no name but those that it may use."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import sqlglot
from google.api_core.exceptions import ClientError, ServerError
from google.cloud import bigquery
from google.cloud.bigquery import ScalarQueryParameter
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from local_cloud.bigquery import allowed
from local_cloud.bigquery.catalog import Name
from local_cloud.bigquery.database import Database, encoded
from local_cloud.bigquery.errors import Problem
from local_cloud.bigquery.ml import grammar
from local_cloud.bigquery.parameters import fill
from local_cloud.bigquery.resolve import stored
from local_cloud.bigquery.statements import parsed
from local_cloud.bigquery.translate import to_duckdb
from local_cloud.bigquery.types import checked
from tests.local_cloud.bigquery.support import Run

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


def test_the_lists_name_what_sqlglot_has() -> None:
    """A word that is spelt wrong would refuse in silence."""
    listed = allowed.NODES | allowed.FUNCTIONS
    unknown = [name for name in listed if not hasattr(exp, name) and not hasattr(grammar, name)]
    assert unknown == []
    assert not {"ReadCSV", "ReadParquet", "Command", "Copy", "Attach", "Set"} & listed


@given(st.text(max_size=80))
def test_any_text_is_a_statement_or_is_refused(text: str) -> None:
    try:
        parsed(text)
    except Problem:
        return


HOSTILE = st.text(max_size=30) | st.lists(
    st.sampled_from(["'", '"', "`", "\\", ";", "--", "/*", "*/", "$$", "\n", "\0", "x", "@p", "?"])
).map("".join)


@given(HOSTILE)
def test_a_parameter_stays_one_value(text: str) -> None:
    """Whatever is in it: DuckDB's parser meets one literal."""
    kind = {"name": "p", "parameterType": {"type": "STRING"}, "parameterValue": {"value": text}}
    sql = to_duckdb(fill(parsed("SELECT @p AS p"), [kind]))
    (found,) = sqlglot.parse(sql, read="duckdb")
    assert isinstance(found, exp.Select) and len(list(found.find_all(exp.Literal))) == 1


@given(HOSTILE, HOSTILE.filter(bool))
def test_a_name_stays_one_name(dataset: str, table: str) -> None:
    name = Name("p", dataset, table)
    sql = to_duckdb(exp.select("*").from_(stored(name)))
    (found,) = sqlglot.parse_one(sql, read="duckdb").find_all(exp.Table)
    assert [part.name for part in found.parts] == [name.schema, encoded(table)]


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
        sql = to_duckdb(parsed(query.format(text)))
    except Problem:
        return
    assert [one.type.name for one in duckdb.extract_statements(sql)] == ["SELECT"]


@given(st.text(max_size=20), st.text(max_size=20))
def test_names_that_differ_are_stored_apart(one: str, other: str) -> None:
    """Also where they differ in case, which DuckDB does not see."""
    if one != other and one.isascii() and other.isascii():
        assert encoded(one).lower() != encoded(other).lower()


@given(HOSTILE)
def test_a_column_of_a_hostile_name_is_refused_or_quoted(name: str) -> None:
    try:
        (field,) = checked([{"name": name, "type": "STRING"}])
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


def test_a_hostile_value_comes_back_as_it_was(run: Run) -> None:
    text = "'; DROP SCHEMA catalog CASCADE; --\\' \" ` $$ \n é 🜁"
    assert run("SELECT @p", ScalarQueryParameter("p", "STRING", text)) == [(text,)]


def test_a_query_that_is_nested_too_deeply_is_refused(run: Run) -> None:
    with pytest.raises(ClientError, match=r"nested too deeply|Syntax error"):
        run("SELECT " + "(" * 3000 + "1" + ")" * 3000)


def test_another_project_is_read_only_by_its_name(run: Run, client: bigquery.Client) -> None:
    """There are no permissions here: whoever has the secret reads every project."""
    run("CREATE TABLE t AS SELECT 1 AS x")
    other = bigquery.Client(project="another")
    rows = other.query_and_wait("SELECT x FROM `bigquery-tests.d.t`")
    assert [row.x for row in rows] == [1]
    with pytest.raises(ClientError, match="Dataset another:d was not found"):
        other.query_and_wait("SELECT x FROM d.t")
