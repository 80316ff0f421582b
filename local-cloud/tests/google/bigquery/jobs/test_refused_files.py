"""Files that cannot be loaded are refused, and change nothing."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.api_core.exceptions import BadRequest, MethodNotImplemented
from google.cloud import bigquery

from tests.google.bigquery.jobs.test_jobs import config
from tests.google.bigquery.support import Run

# What the client says of its own future.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Loading DataFrames via:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Loading pandas DataFrame:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Retrieving DataFrames via:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Series.values returning an ndarray"),
]


def test_files_that_do_not_fit_are_refused_and_change_nothing(
    client: bigquery.Client, run: Run
) -> None:
    """Nothing is dropped in silence: neither a header, nor a field, nor a wish of the request."""
    run("CREATE TABLE d.f (a INT64)")
    schema = [bigquery.SchemaField("a", "INTEGER")]
    lines, table = "NEWLINE_DELIMITED_JSON", pa.table({"a": [1], "b": [2]})
    parquet = io.BytesIO()
    pq.write_table(table, parquet)
    for body, settings, error, words in (
        (b"a,b\n1,2,3\n", {"autodetect": True}, BadRequest, "2 columns, and others have 3"),
        (b'{"a":1,"b":2}\n', {"source_format": lines}, BadRequest, "No such field: b"),
        (parquet.getvalue(), {"source_format": "PARQUET"}, BadRequest, "No such field: b"),
        (b"1\nx\ny\n1,2\n", {"max_bad_records": 2}, BadRequest, "Rows: 4; errors: 3"),
        (
            b"1\n",
            {"schema_update_options": ["ALLOW_FIELD_ADDITION"]},
            MethodNotImplemented,
            "with schemaUpdateOptions",
        ),
        (b"1\n", {"write_disposition": "WRITE_ALL"}, BadRequest, "is none of WRITE_APPEND"),
        (b"1.5\n", {}, BadRequest, "Could not parse '1.5' as INT64"),
        (b'{"a":1.5}\n', {"source_format": lines}, BadRequest, "Could not parse '1.5' as INT64"),
        (b"1\n", {"field_delimiter": "||"}, BadRequest, "fieldDelimiter: '||' is not one"),
        (b"1\n", {"quote_character": "''"}, BadRequest, "quote: \"''\" is not one"),
        (b"1\n", {"ignore_unknown_values": True}, MethodNotImplemented, "ignoreUnknownValues"),
        (b"a" * 200_000 + b"\n", {"autodetect": True}, BadRequest, "field larger than"),
    ):
        if "autodetect" not in settings:
            settings["schema"] = schema
        with pytest.raises(error, match=words) as caught:
            client.load_table_from_file(
                io.BytesIO(body), "d.f", job_config=config(**settings)
            ).result()
        assert "bigquery-" not in str(caught.value)
    assert run("SELECT count(*) FROM f") == [(0,)]
    cased = config(schema=schema, source_format=lines)  # a key's case does not count
    client.load_table_from_file(io.BytesIO(b'{"A":2.0}\n'), "d.g", job_config=cased).result()
    assert run("SELECT * FROM g") == [(2,)]
    settings = config(schema=schema, source_format=lines, ignore_unknown_values=True)
    client.load_table_from_file(io.BytesIO(b'{"a":1,"b":2}\n'), "d.f", job_config=settings).result()
    assert run("SELECT * FROM f") == [(1,)]
