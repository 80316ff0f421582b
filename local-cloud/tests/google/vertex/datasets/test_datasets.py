"""Managed datasets, driven by the real SDK."""

from __future__ import annotations

import csv
import json
from types import ModuleType

import pytest
from google.api_core import exceptions
from google.cloud import storage

from tests.google.vertex.support import BUCKET, IMAGE, Script

RIDES = f"gs://{BUCKET}/datasets/rides.csv"


def test_a_table_is_created_found_changed_and_deleted(aiplatform: ModuleType) -> None:
    made = aiplatform.TabularDataset.create("rides", gcs_source=RIDES, labels={"kind": "rides"})
    again = aiplatform.TabularDataset(made.resource_name)
    assert again.display_name == "rides" and again.labels == {"kind": "rides"}
    assert again.gca_resource.metadata["inputConfig"]["gcsSource"]["uri"] == [RIDES]
    datasets = aiplatform.TabularDataset.list(filter='display_name="rides"')
    assert [each.resource_name for each in datasets] == [made.resource_name]
    made.update(display_name="more rides", labels={})
    assert aiplatform.TabularDataset(made.name).display_name == "more rides"
    made.delete()
    with pytest.raises(exceptions.NotFound):
        aiplatform.TabularDataset(made.resource_name)


def test_the_sdk_finds_a_tables_columns_in_its_first_file(aiplatform: ModuleType) -> None:
    bucket = storage.Client().bucket(BUCKET)
    bucket.blob("datasets/rides.csv").upload_from_string("distance,fare\n1,2\n")
    made = aiplatform.TabularDataset.create("columns", gcs_source=[RIDES])
    assert sorted(made.column_names) == ["distance", "fare"]
    made.delete()


def test_what_is_not_here_or_wrong_is_refused_by_name(aiplatform: ModuleType) -> None:
    create = aiplatform.TabularDataset.create
    with pytest.raises(exceptions.BadRequest, match=r"is not a bq://PROJECT\.DATASET\.TABLE URI"):
        create("table", bq_source="bq://dataset.table")
    with pytest.raises(exceptions.BadRequest, match="does not begin with gs://BUCKET"):
        create("table", gcs_source="/home/me/rides.csv")
    with pytest.raises(exceptions.MethodNotImplemented, match=r"datasets of video"):
        aiplatform.VideoDataset.create("films")
    with pytest.raises(exceptions.MethodNotImplemented, match=r"datasets of text"):
        aiplatform.TextDataset.create("letters")
    with pytest.raises(exceptions.MethodNotImplemented, match=r"datasets of time_series"):
        aiplatform.TimeSeriesDataset.create("sales", gcs_source=RIDES)


# What a job finds: the parts of its dataset, by the variables that name them.
READ = """
import csv, io, json, os
from google.cloud import storage
found = {}
for part in ("TRAINING", "VALIDATION", "TEST"):
    bucket, _, place = os.environ[f"AIP_{part}_DATA_URI"].removeprefix("gs://").partition("/")
    blobs = storage.Client().list_blobs(bucket, prefix=place.split("*")[0])
    found[part] = "".join(blob.download_as_text() for blob in blobs)
found["format"] = os.environ["AIP_DATA_FORMAT"]
bucket, _, folder = os.environ["AIP_MODEL_DIR"].removeprefix("gs://").partition("/")
storage.Client().bucket(bucket).blob("found.json").upload_from_string(json.dumps(found))
"""


def test_a_custom_job_reads_the_parts_of_a_table(aiplatform: ModuleType, script: Script) -> None:
    bucket = storage.Client().bucket(BUCKET)
    uses = ["TRAIN"] * 6 + ["VALIDATE"] * 3 + ["TEST"]
    text = "".join(f'{number},"ride, {number}",{use}\n' for number, use in enumerate(uses))
    bucket.blob("datasets/parts.csv").upload_from_string(f"number,name,use\n{text}")
    made = aiplatform.TabularDataset.create("parts", gcs_source=f"gs://{BUCKET}/datasets/parts.csv")
    job = aiplatform.CustomTrainingJob("parts", script(READ), IMAGE)
    job.run(made, predefined_split_column_name="use", machine_type="n1-standard-4")
    content = json.loads(bucket.blob("found.json").download_as_text())
    assert content["format"] == "csv"
    rows = {part: [*csv.DictReader(content[part].splitlines())] for part in ("TRAINING", "TEST")}
    assert [row["name"] for row in rows["TRAINING"]] == [f"ride, {each}" for each in range(6)]
    assert rows["TEST"] == [{"number": "9", "name": "ride, 9", "use": "TEST"}]
    again = aiplatform.CustomTrainingJob("parts", script(READ), IMAGE)
    with pytest.raises(exceptions.MethodNotImplemented, match="bigqueryDestination"):
        again.run(made, bigquery_destination="bq://project", machine_type="n1-standard-4")
    made.delete()
