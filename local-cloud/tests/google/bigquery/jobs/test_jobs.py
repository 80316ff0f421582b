"""Load, extract and copy jobs, and rows that are streamed, with the real client."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator

import pandas as pd
import pytest
from google.api_core.exceptions import BadRequest, Conflict, NotFound
from google.cloud import bigquery, storage

from tests.google.bigquery.support import Run

# What the client says of its own future.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Loading DataFrames via:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Loading pandas DataFrame:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Retrieving DataFrames via:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Series.values returning an ndarray"),
]
PASSENGERS = b"name,age,fare\nAnn,30,7.25\nBob,,8.5\n"


@pytest.fixture
def bucket(client: bigquery.Client) -> Iterator[storage.Bucket]:
    bucket = storage.Client(project=client.project).create_bucket("of-bigquery")
    yield bucket
    bucket.delete(force=True)


def config(**settings: object) -> bigquery.LoadJobConfig:
    return bigquery.LoadJobConfig(**settings)


def test_a_csv_file_is_loaded_as_it_looks(client: bigquery.Client, run: Run) -> None:
    job = client.load_table_from_file(
        io.BytesIO(PASSENGERS), "d.p", job_config=config(autodetect=True, skip_leading_rows=1)
    )
    assert job.result().output_rows == 2
    assert run("SELECT * FROM p ORDER BY name") == [("Ann", 30, 7.25), ("Bob", None, 8.5)]


def test_a_csv_file_is_loaded_by_a_schema(client: bigquery.Client, run: Run) -> None:
    schema = [
        bigquery.SchemaField("name", "STRING"),
        bigquery.SchemaField("age", "FLOAT"),
        bigquery.SchemaField("fare", "NUMERIC"),
    ]
    settings = config(schema=schema, skip_leading_rows=1, source_format="CSV")
    file = io.BytesIO(PASSENGERS)
    client.load_table_from_file(file, "d.p", size=len(PASSENGERS), job_config=settings).result()
    assert [one.field_type for one in client.get_table("d.p").schema] == [
        "STRING",
        "FLOAT",
        "NUMERIC",
    ]
    wrong = io.BytesIO(b"name,age,fare\nAnn,thirty,1\n")
    with pytest.raises(BadRequest, match=r"Error while reading data.*thirty"):
        client.load_table_from_file(wrong, "d.p", job_config=settings).result()
    assert run("SELECT count(*) FROM p") == [(2,)]


def test_a_data_frame_is_loaded_and_read_back(client: bigquery.Client, dataset: str) -> None:
    frame = pd.DataFrame(
        {
            "name": ["Ann", None],
            "age": [30, 40],
            "fare": [7.25, None],
            "at": pd.to_datetime(["2026-01-01T10:00:00Z", None]),
        }
    )
    client.load_table_from_dataframe(frame, "d.p").result()
    rows = client.query("SELECT * FROM d.p ORDER BY age").to_dataframe()
    assert rows["name"][0] == "Ann" and pd.isna(rows["name"][1])
    assert rows["age"].tolist() == [30, 40]
    assert rows["fare"][0] == 7.25 and pd.isna(rows["fare"][1])
    assert rows["at"][0] == frame["at"][0] and pd.isna(rows["at"][1])


def test_rows_of_json_have_arrays_and_records(client: bigquery.Client, run: Run) -> None:
    rows = [{"id": 1, "tags": ["a", "b"], "at": {"x": 1.5}}, {"id": 2, "tags": [], "at": None}]
    client.load_table_from_json(rows, "d.j").result()
    assert run("SELECT id, tags, at.x FROM j ORDER BY id") == [(1, ["a", "b"], 1.5), (2, [], None)]


def test_columns_without_a_header_are_called_by_their_types(
    client: bigquery.Client, run: Run
) -> None:
    body = io.BytesIO(b"7,Ann,1.5,true\n8,Bob,2.5,false\n")
    client.load_table_from_file(body, "d.n", job_config=config(autodetect=True)).result()
    assert [one.name for one in client.get_table("d.n").schema] == [
        "int64_field_0",
        "string_field_1",
        "double_field_2",
        "bool_field_3",
    ]


def test_objects_are_loaded_by_a_pattern(
    client: bigquery.Client, run: Run, bucket: storage.Bucket
) -> None:
    for name, body in (("in/a[1].csv", PASSENGERS), ("in/b.csv", PASSENGERS), ("in/c.txt", b"x")):
        bucket.blob(name).upload_from_string(body)
    settings = config(autodetect=True, skip_leading_rows=1)
    job = client.load_table_from_uri("gs://of-bigquery/in/*.csv", "d.p", job_config=settings)
    assert (job.result().output_rows, job.input_files) == (4, 2)
    uri = "gs://of-bigquery/in/*[1].csv"  # a star alone stands for other letters
    assert client.load_table_from_uri(uri, "d.q", job_config=settings).result().input_files == 1
    with pytest.raises(NotFound, match="Not found: URI gs://of-bigquery/none"):
        client.load_table_from_uri("gs://of-bigquery/none", "d.p").result()
    with pytest.raises(BadRequest, match="must be a Google Cloud Storage location"):
        client.load_table_from_uri("/etc/passwd", "d.p").result()


def test_a_write_disposition_says_what_becomes_of_the_rows_that_are_there(
    client: bigquery.Client, run: Run
) -> None:
    def load(disposition: str) -> int:
        frame = pd.DataFrame({"x": [1]})
        client.load_table_from_dataframe(
            frame, "d.t", job_config=config(write_disposition=disposition)
        ).result()
        return int(run("SELECT count(*) FROM t")[0][0])

    assert [load(one) for one in ("WRITE_EMPTY", "WRITE_APPEND", "WRITE_TRUNCATE")] == [1, 2, 1]
    with pytest.raises(Conflict, match="Already Exists"):
        load("WRITE_EMPTY")


@pytest.mark.parametrize("kind", ["CSV", "NEWLINE_DELIMITED_JSON", "PARQUET"])
def test_a_table_goes_to_a_bucket_and_back(
    client: bigquery.Client, run: Run, bucket: storage.Bucket, kind: str
) -> None:
    run(
        "CREATE TABLE t AS SELECT 'Ann' AS name, 30 AS age, 7.25 AS fare, DATE '2026-01-01' AS day,"
        " TIMESTAMP '2026-01-01 10:00:00+00' AS at, b'\\x00x' AS raw"
    )
    uri = "gs://of-bigquery/out/t-*"
    settings = bigquery.ExtractJobConfig(destination_format=kind, compression="GZIP")
    job = client.extract_table("d.t", uri, job_config=settings).result()
    assert job.destination_uri_file_counts == [1]
    (blob,) = bucket.list_blobs()
    assert blob.name == "out/t-000000000000"
    if kind == "CSV":
        text = gzip.decompress(blob.download_as_bytes()).decode()
        assert text.startswith("name,age,fare,day,at,raw\nAnn,30,7.25,2026-01-01,2026-01-01 10:00")
    schema = client.get_table("d.t").schema
    back = config(schema=schema, source_format=kind, skip_leading_rows=int(kind == "CSV"))
    client.load_table_from_uri(uri, "d.back", job_config=back).result()
    assert run("SELECT * FROM back") == run("SELECT * FROM t")


def test_tables_are_copied_into_one(client: bigquery.Client, run: Run) -> None:
    run("CREATE TABLE a AS SELECT 1 AS x")
    run("CREATE TABLE b AS SELECT 2 AS x")
    client.copy_table(["bigquery-tests.d.a", "bigquery-tests.d.b"], "bigquery-tests.d.c").result()
    assert run("SELECT x FROM c ORDER BY x") == [(1,), (2,)]
    run("CREATE VIEW v AS SELECT 1 AS x")
    with pytest.raises(BadRequest, match="is a VIEW: only a table can be copied"):
        client.copy_table("bigquery-tests.d.v", "bigquery-tests.d.e").result()


def test_rows_are_streamed_and_each_wrong_one_is_named(client: bigquery.Client, run: Run) -> None:
    run("CREATE TABLE t (id INT64 NOT NULL, tags ARRAY<STRING>, at TIMESTAMP)")
    rows = [{"id": 1, "tags": ["a"], "at": "2026-01-01T00:00:00Z"}, {"id": "2", "at": 0}]
    assert client.insert_rows_json("d.t", rows) == []
    assert run("SELECT id, tags, UNIX_SECONDS(at) FROM t ORDER BY id") == [
        (1, ["a"], 1767225600),
        (2, [], 0),
    ]
    wrong = [{"id": 3}, {"id": "x"}, {"tags": ["b"]}, {"id": 4, "more": 1}]
    errors = client.insert_rows_json("d.t", wrong)
    assert [one["errors"][0]["reason"] for one in errors] == ["stopped", *["invalid"] * 3]
    assert errors[3]["errors"][0]["message"] == "no such field: more."
    assert run("SELECT count(*) FROM t") == [(2,)]
    client.insert_rows_json("d.t", wrong, skip_invalid_rows=True)
    assert run("SELECT count(*) FROM t") == [(3,)]
