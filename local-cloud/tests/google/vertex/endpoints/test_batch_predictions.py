"""Batch prediction, driven by the real SDK: whole files of a bucket are scored."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import storage

import local_cloud
from local_cloud import LocalCloudError
from tests.google.vertex.support import BUCKET
from tests.google.vertex.trained_model import Trained, probabilities, upload
from tests.google.vertex.tuning.test_tuning import wait_for
from tests.lesson_code import PASSENGERS

OUTPUT = f"gs://{BUCKET}/scored"
# A model server that answers one request after the other, in a fifth of a second each.
SLOW = """
import json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({})

    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(0.2)
        self.answer({"predictions": wish["instances"]})

    def answer(self, found):
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

HTTPServer(("127.0.0.1", int(os.environ["AIP_HTTP_PORT"])), Handler).serve_forever()
"""
PREDICTIONS, ERRORS = "prediction.results-00000-of-00001", "prediction.errors_stats-00000-of-00001"


@pytest.fixture(scope="module")
def model(aiplatform: ModuleType, trained: Trained) -> Iterator[Any]:
    made = upload(aiplatform, trained)
    yield made
    made.delete()


def put(name: str, text: str) -> str:
    storage.Client().bucket(BUCKET).blob(name).upload_from_string(text)
    return f"gs://{BUCKET}/{name}"


def written(job: Any) -> dict[str, str]:
    """What the job wrote, by the end of the name."""
    return {blob.name.rsplit("/", 1)[1]: blob.download_as_text() for blob in job.iter_outputs()}


def score_by_key(model: Any, source: str, *, key: str, predictions_format: str = "csv") -> Any:
    """A job of a CSV file with a key, for which the SDK's own class has no argument."""
    from google.cloud import aiplatform

    client = aiplatform.initializer.global_config.create_client(
        client_class=aiplatform.utils.JobClientWithOverride
    )
    sent = client.create_batch_prediction_job(
        parent="projects/my-project/locations/us-central1",
        batch_prediction_job={
            "display_name": "keys",
            "model": model.resource_name,
            "input_config": {"instances_format": "csv", "gcs_source": {"uris": [source]}},
            "instance_config": {"key_field": key},
            "output_config": {
                "predictions_format": predictions_format,
                "gcs_destination": {"output_uri_prefix": OUTPUT},
            },
        },
    )
    job = aiplatform.BatchPredictionJob(sent.name)
    wait_for(lambda: job.state.name in ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"))
    return job


def test_lines_of_json_are_scored_and_bad_ones_are_told_apart(model: Any, trained: Trained) -> None:
    lines = [*PASSENGERS, {"Sex": "dog"}, trained.rows[0]]
    text = "".join(f"{json.dumps(each)}\n" for each in lines) + "no json\n"
    source = put("in/some[1].jsonl", text)
    job = model.batch_predict(
        job_display_name="score", gcs_source=source, gcs_destination_prefix=OUTPUT,
        machine_type="n1-standard-4", batch_size=2,
    )  # fmt: skip
    assert job.completion_stats.successful_count == 3
    assert job.completion_stats.failed_count == 2
    assert job.completion_stats.incomplete_count == 0
    files = written(job)
    assert job.output_info.gcs_output_directory.startswith(f"{OUTPUT}/prediction-titanic-")
    good = [json.loads(line) for line in files[PREDICTIONS].splitlines()]
    assert [each["instance"] for each in good] == [*PASSENGERS, trained.rows[0]]
    expected = [*trained.expected, trained.expected[0]]
    scored = probabilities(each["prediction"] for each in good)
    assert scored == pytest.approx(expected, abs=1e-6)
    bad = [json.loads(line) for line in files[ERRORS].splitlines()]
    assert [each["instance"] for each in bad] == [{"Sex": "dog"}, "no json"]
    assert "female, male" in bad[0]["error"]["message"]
    job.delete()


def test_a_csv_file_is_scored_into_another(model: Any, trained: Trained) -> None:
    names = list(PASSENGERS[0])
    rows = [[each[name] for name in names] for each in PASSENGERS]
    table = [names, *rows]
    text = "".join(
        ",".join("" if cell is None else str(cell) for cell in row) + "\n" for row in table
    )
    put("tables/1.csv", text)
    put("tables/2.csv", text)
    job = model.batch_predict(
        job_display_name="table",
        gcs_source=f"gs://{BUCKET}/tables/*.csv",
        instances_format="csv",
        predictions_format="csv",
        gcs_destination_prefix=OUTPUT,
        machine_type="n1-standard-4",
    )
    assert job.completion_stats.successful_count == 4
    scored = list(csv.DictReader(written(job)[f"{PREDICTIONS}.csv"].splitlines()))
    scored_values = [float(each["probability"]) for each in scored]
    assert scored_values == pytest.approx([*trained.expected, *trained.expected], abs=1e-6)
    assert [each["Sex"] for each in scored] == ["female", "male"] * 2
    texts = ["" if cell is None else str(cell) for cell in rows[0]]
    assert [scored[0][name] for name in names] == texts  # as they were written


def test_a_key_that_is_no_column_fails_the_job(model: Any) -> None:
    job = score_by_key(model, put("keys/none.csv", "a,b\n1,2\n"), key="ticket")
    assert job.state.name == "JOB_STATE_FAILED"
    assert "there is no column 'ticket': a, b" in job.error.message


@pytest.mark.parametrize("predictions_format", ["csv", "jsonl"])
def test_a_key_stands_for_the_instance_and_is_not_sent(
    model: Any, trained: Trained, predictions_format: str
) -> None:
    names = [*PASSENGERS[0], "ticket"]
    rows = [[*each.values(), f"00{place}"] for place, each in enumerate(PASSENGERS)]
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in (names, *rows)]
    source = put("keys/in.csv", "\n".join(lines))
    job = score_by_key(model, source, key="ticket", predictions_format=predictions_format)
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    if predictions_format == "csv":
        scored = list(csv.DictReader(written(job)[f"{PREDICTIONS}.csv"].splitlines()))
        assert [each["key"] for each in scored] == ["000", "001"]
        assert "Sex" not in scored[0]
        scored_rows = [float(each["probability"]) for each in scored]
    else:
        lines = written(job)[PREDICTIONS].splitlines()
        assert [json.loads(line).keys() for line in lines] == [{"key", "prediction"}] * 2
        scored_rows = probabilities(json.loads(line)["prediction"] for line in lines)
    assert scored_rows == pytest.approx(trained.expected, abs=1e-6)


def test_what_cannot_be_scored_fails_and_is_cancelled(aiplatform: ModuleType, model: Any) -> None:
    settings = {"gcs_destination_prefix": OUTPUT, "machine_type": "n1-standard-4"}
    with pytest.raises(RuntimeError, match="There are no files"):
        model.batch_predict(
            job_display_name="none", gcs_source=f"gs://{BUCKET}/none.jsonl", **settings
        )
    with pytest.raises(exceptions.MethodNotImplemented, match="gcsSource"):
        model.batch_predict(job_display_name="bq", bigquery_source="bq://p.d.t", **settings)
    source = put("in/long.jsonl", f"{json.dumps(PASSENGERS[0])}\n" * 20_000)
    job = model.batch_predict(
        job_display_name="long", gcs_source=source, sync=False, batch_size=1, **settings
    )
    job.wait_for_resource_creation()
    job.cancel()
    (ended_job,) = aiplatform.BatchPredictionJob.list(filter='display_name="long"')
    assert ended_job.state.name == "JOB_STATE_CANCELLED"
    with pytest.raises(RuntimeError):
        job.wait()
    ended_job.delete()


def test_a_job_begins_again_after_the_server_was_stopped(
    aiplatform: ModuleType, trained: Trained
) -> None:
    server = [sys.executable, "-c", SLOW]
    slow = upload(aiplatform, trained, serving_container_command=server)
    job = slow.batch_predict(
        job_display_name="stopped",
        gcs_source=put("in/stopped.jsonl", "[1, 2]\n" * 15),
        gcs_destination_prefix=OUTPUT,
        machine_type="n1-standard-4",
        batch_size=1,
        sync=False,
    )
    job.wait_for_resource_creation()
    wait_for(lambda: job.state.name == "JOB_STATE_RUNNING")
    local_cloud.stop()
    with pytest.raises(LocalCloudError, match="was stopped at"):  # what waits, says so
        job.wait()
    local_cloud.activate()
    again = aiplatform.BatchPredictionJob(job.resource_name)
    wait_for(lambda: again.state.name == "JOB_STATE_SUCCEEDED")
    assert again.completion_stats.successful_count == 15
    assert again.completion_stats.failed_count == 0
