"""The settings of a load job, all that the API defines: each works or is refused by its name."""

from __future__ import annotations

import io
from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, MethodNotImplemented
from google.cloud import bigquery

from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.jobs import load_settings
from local_cloud.google.definitions.api import api
from tests.google.bigquery.support import Run

INTEGER, TEXT = bigquery.SchemaField("i", "INTEGER"), bigquery.SchemaField("t", "STRING")


def load(client: bigquery.Client, body: bytes, **settings: object) -> bigquery.LoadJob:
    job = client.load_table_from_file(
        io.BytesIO(body), "d.t", job_config=bigquery.LoadJobConfig(**settings)
    )
    return job.result()


def names() -> list[str]:
    method = api("bigquery.v2").method("POST", "/bigquery/v2/projects/{project}/jobs")
    return sorted(method.schemas["JobConfigurationLoad"]["properties"])


@pytest.mark.parametrize("name", names())
def test_every_setting_that_the_api_defines_works_or_is_refused_by_name(name: str) -> None:
    known = load_settings.HONOURED | load_settings.HARMLESS
    value: Any = "UTF-8" if name == "encoding" else ["x"]
    if name in load_settings.DISPOSITIONS:
        value = load_settings.DISPOSITIONS[name][0]
    if name in known:
        load_settings.check({"load": {name: value}})
        return
    with pytest.raises(Problem, match=f"not implemented in the local cloud: load jobs with {name}"):
        load_settings.check({"load": {name: value}})


# JobConfigurationLoad.skipLeadingRows, and docs/schema-detect#csv_header
@pytest.mark.parametrize(
    ("skip", "body", "columns", "count"),
    [
        (None, b"name,age\nAnn,30\n", ["name", "age"], 1),
        (None, b"name,city\nAnn,Rome\n", ["string_field_0", "string_field_1"], 2),
        (1, b"name,city\nAnn,Rome\n", ["string_field_0", "string_field_1"], 1),
        (0, b"name,age\nAnn,30\n", ["string_field_0", "string_field_1"], 2),
        (2, b"about\nname,age\nAnn,30\n", ["name", "age"], 1),
        (None, b"7,Ann\n8,Bob\n", ["int64_field_0", "string_field_1"], 2),
        (1, b"7,Ann\n8,Bob\n", ["int64_field_0", "string_field_1"], 1),
        (None, b"x,y\n1,a\n", ["x", "y"], 1),
        (None, b"Ann,y\nBob,n\n", ["string_field_0", "string_field_1"], 2),
    ],
)
def test_a_header_is_a_row_of_words_above_others(
    client: bigquery.Client, run: Run, skip: int | None, body: bytes, columns: list[str], count: int
) -> None:
    more = {} if skip is None else {"skip_leading_rows": skip}
    assert load(client, body, autodetect=True, **more).output_rows == count
    assert [one.name for one in client.get_table("d.t").schema] == columns


def test_bad_records_are_left_out_up_to_the_number_allowed(
    client: bigquery.Client, run: Run
) -> None:
    body = b"1,a\nx,b\n2\n3,c,d\n4.5,e\n,f\n"
    settings: dict[str, Any] = {"schema": [INTEGER, TEXT]}
    assert load(client, body, max_bad_records=4, **settings).output_rows == 2
    assert run("SELECT i, t FROM t ORDER BY t") == [(1, "a"), (None, "f")]
    with pytest.raises(BadRequest, match=r"too many errors, giving up. Rows: 6; errors: 4\."):
        load(client, body, max_bad_records=3, **settings)
    assert run("SELECT count(*) FROM t") == [(2,)]


def test_several_words_stand_for_null(client: bigquery.Client, run: Run) -> None:
    body = b"1,a\nNA,NA\n-,\n"
    load(client, body, schema=[INTEGER, TEXT], null_markers=["NA", "-"])
    assert run("SELECT i, t FROM t WHERE i IS NULL ORDER BY t") == [(None, None), (None, "")]
    with pytest.raises(BadRequest, match="cannot both be set"):
        load(client, body, schema=[INTEGER, TEXT], null_markers=["NA"], null_marker="NA")


def test_a_new_table_has_the_properties_that_the_job_gives(
    client: bigquery.Client, run: Run
) -> None:
    described = {"destination_table_description": "rides", "destination_table_friendly_name": "R"}
    load(client, b"1\n", schema=[INTEGER], **described)
    table = client.get_table("d.t")
    assert (table.description, table.friendly_name) == ("rides", "R")


def test_an_encoding_is_read_or_refused(client: bigquery.Client, run: Run) -> None:
    load(client, "é\n".encode("latin-1"), schema=[TEXT], encoding="ISO-8859-1")
    assert run("SELECT t FROM t") == [("é",)]
    with pytest.raises(MethodNotImplemented, match="encoding UTF-16LE"):
        load(client, "é\n".encode("utf-16-le"), schema=[TEXT], encoding="UTF-16LE")
    with pytest.raises(BadRequest, match="'EBCDIC' is none of"):
        load(client, b"x\n", schema=[TEXT], encoding="EBCDIC")
