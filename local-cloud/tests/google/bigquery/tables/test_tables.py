"""Datasets and tables with the real client."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import BadRequest, Conflict, NotFound
from google.cloud import bigquery

from tests.google.bigquery.support import Run

FIELDS = [
    bigquery.SchemaField("name", "STRING", "REQUIRED"),
    bigquery.SchemaField("age", "INTEGER"),
]


def test_datasets_are_made_listed_changed_and_deleted(client: bigquery.Client) -> None:
    client.delete_dataset("made", delete_contents=True, not_found_ok=True)
    made = client.create_dataset("made")
    assert made.full_dataset_id == "bigquery-tests:made"
    assert made.location == "US"
    with pytest.raises(Conflict, match="Already Exists: Dataset bigquery-tests:made"):
        client.create_dataset("made")
    made.description, made.labels = "titanic", {"team": "ml"}
    client.update_dataset(made, ["description", "labels"])
    dataset = client.get_dataset("made")
    assert (dataset.description, dataset.labels) == ("titanic", {"team": "ml"})
    assert "made" in [one.dataset_id for one in client.list_datasets(filter="labels.team:ml")]
    client.create_table(bigquery.Table("bigquery-tests.made.t", FIELDS))
    with pytest.raises(BadRequest, match="is still in use"):
        client.delete_dataset("made")
    client.delete_dataset("made", delete_contents=True)
    with pytest.raises(NotFound, match="Dataset bigquery-tests:made was not found in location US"):
        client.get_dataset("made")


def test_tables_are_made_listed_and_deleted(client: bigquery.Client, dataset: str) -> None:
    table = client.create_table(bigquery.Table("bigquery-tests.d.t", FIELDS))
    assert [one.table_id for one in client.list_tables(dataset)] == ["t"]
    with pytest.raises(Conflict, match=r"Already Exists: Table bigquery-tests:d\.t"):
        client.create_table(bigquery.Table("bigquery-tests.d.t", FIELDS))
    assert client.get_table(table).schema == FIELDS
    assert client.get_table(table).num_rows == 0
    client.delete_table(table)
    with pytest.raises(NotFound, match=r"Table bigquery-tests:d\.t was not found in location US"):
        client.get_table(table)


def test_columns_are_added_to_a_table(client: bigquery.Client, dataset: str, run: Run) -> None:
    table = client.create_table(bigquery.Table("bigquery-tests.d.t", FIELDS))
    run("INSERT INTO t (name, age) VALUES ('Ann', 30)")
    table.schema = [*FIELDS, bigquery.SchemaField("fare", "FLOAT")]
    client.update_table(table, ["schema"])
    assert run("SELECT * FROM t") == [("Ann", 30, None)]
    table = client.get_table(table)
    table.schema = FIELDS
    with pytest.raises(BadRequest, match="does not match Table"):
        client.update_table(table, ["schema"])


def test_names_that_differ_in_case_are_two_tables(client: bigquery.Client, run: Run) -> None:
    run("CREATE TABLE T AS SELECT 1 AS x")
    run("CREATE TABLE t AS SELECT 2 AS x")
    assert (run("SELECT x FROM T"), run("SELECT x FROM t")) == ([(1,)], [(2,)])
