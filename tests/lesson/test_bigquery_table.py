"""The lesson's preparation, from a table of BigQuery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from google.cloud import bigquery

from lesson import LessonError
from lesson.preparation import prepare, read_passengers
from local_cloud import Status

CSV = Path(__file__).parents[2] / "data" / "titanic_train.csv"


@pytest.fixture(scope="module")
def client(cloud: Status) -> Iterator[bigquery.Client]:
    with bigquery.Client(project="bigquery-tests") as client:
        client.create_dataset("d", exists_ok=True)
        yield client


def test_a_table_is_prepared_as_the_file_is(client: bigquery.Client, tmp_path: Path) -> None:
    config = bigquery.LoadJobConfig(autodetect=True, skip_leading_rows=1)
    with CSV.open("rb") as file:
        client.load_table_from_file(file, "d.titanic", job_config=config).result()
    uri = "bq://bigquery-tests.d.titanic"
    of_table, of_file = prepare(uri, tmp_path / "table"), prepare(CSV, tmp_path / "file")
    for part in ("train", "val"):
        prepared, wanted = np.load(getattr(of_table, part)), np.load(getattr(of_file, part))
        np.testing.assert_array_equal(prepared[f"X_{part}"], wanted[f"X_{part}"])
        np.testing.assert_array_equal(prepared[f"y_{part}"], wanted[f"y_{part}"])


def test_any_table_is_prepared_as_its_file_is(client: bigquery.Client, tmp_path: Path) -> None:
    rows = [
        {"day": f"2026-01-{1 + n % 9:02}", "kind": "ab"[n % 2], "big": n % 3 > 0, "size": n**1.5}
        for n in range(20)
    ]
    table = pd.DataFrame(rows)
    table.loc[3, ["kind", "size"]] = None
    table.to_csv(tmp_path / "own.csv", index=False)
    config = bigquery.LoadJobConfig(autodetect=True, skip_leading_rows=1)
    with (tmp_path / "own.csv").open("rb") as file:
        client.load_table_from_file(file, "d.own", job_config=config).result()
    of_table = prepare("bq://bigquery-tests.d.own", tmp_path / "table", "kind")
    of_file = prepare(tmp_path / "own.csv", tmp_path / "file", "kind")
    for part in ("train", "val"):
        prepared, wanted = np.load(getattr(of_table, part)), np.load(getattr(of_file, part))
        assert str(prepared["preparation"]) == str(wanted["preparation"])
        np.testing.assert_array_equal(prepared[f"X_{part}"], wanted[f"X_{part}"])
        np.testing.assert_array_equal(prepared[f"y_{part}"], wanted[f"y_{part}"])


@pytest.mark.parametrize("uri", ["bq://d.t", "bq://bigquery-tests.d.none", "bq://a.b.c.d"])
def test_a_table_that_cannot_be_read_is_refused_in_a_sentence(
    client: bigquery.Client, uri: str
) -> None:
    with pytest.raises(LessonError, match=uri):
        read_passengers(uri)
