"""Curves from history.csv: every epoch, while the job runs and in its results, on both clouds."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from pathlib import Path

import boto3
import pytest
from google.cloud import aiplatform, storage

from local_cloud.client.control import Status
from local_cloud.console.records import job_curves
from testing.visitor import Visitor
from tests.console.filled_cloud import pool, training_request

BUCKET = "console-curves"
S3_BUCKET = "filled-s3"  # that of training_request()
# Its log has one epoch; its history has thirty, and the other thirty when the bucket has "go".
CODE = """
import os, time
from google.cloud import storage
folder = os.environ.get("AIP_MODEL_DIR", "/opt/ml/model").replace("gs://", "/gcs/")
os.makedirs(folder, exist_ok=True)
def write(epochs):
    with open(os.path.join(folder, "history.csv"), "w") as file:
        print("epoch,loss,val_loss,val_accuracy,seconds", file=file)
        for epoch in range(1, epochs + 1):
            print(epoch, 1 / epoch, 2 / epoch, 0.8, 0.1 * epoch, sep=",", file=file)
print("epoch 1  loss 1.0000  validation loss 2.0000  accuracy 0.8000", flush=True)
write(30)
while not storage.Client().bucket("BUCKET").blob("go").exists():
    time.sleep(0.02)
write(60)
""".replace("BUCKET", BUCKET)
FETCH = f"""
from google.cloud import storage
exec(storage.Client().bucket("{BUCKET}").blob("code").download_as_text())
"""  # a request has no place for the whole


def on_vertex() -> str:
    """Begin the job; returns its id in the console."""
    aiplatform.init(project="curves", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    job = aiplatform.CustomJob(display_name="curves", worker_pool_specs=[pool(FETCH)])
    job.submit()
    return str(job.resource_name).rpartition("/")[2]


def on_sagemaker() -> str:
    """The same, with boto3."""
    boto3.client("s3").create_bucket(Bucket=S3_BUCKET)
    boto3.client("sagemaker").create_training_job(**training_request("curves", FETCH))
    return "curves"


@pytest.mark.parametrize("begin", [on_vertex, on_sagemaker])
def test_a_curve_has_every_epoch_while_the_job_runs_and_when_it_has_ended(
    cloud: Status, visitor: Visitor, begin: Callable[[], str]
) -> None:
    bucket = storage.Client(project="curves").bucket(BUCKET)
    if not bucket.exists():
        bucket.create()
    bucket.blob("code").upload_from_string(CODE)
    if bucket.blob("go").exists():
        bucket.blob("go").delete()
    page = f"/console/jobs/{begin()}"
    text = _until(visitor, page, lambda text: _points(text) == 30)
    assert ">Running<" in text
    for name in ("loss", "validation loss", "validation accuracy"):
        assert f"{name} <b>" in text
    assert "seconds <b>" not in text
    bucket.blob("go").upload_from_string("")
    text = _until(visitor, page, lambda text: ">Succeeded<" in text)
    assert _points(text) == 60


def _until(visitor: Visitor, page: str, what: Callable[[str], bool]) -> str:
    end = time.monotonic() + 60
    while not what(text := visitor.get(page).text):
        assert time.monotonic() < end, text
        time.sleep(0.05)
    return text


def _points(text: str) -> int:
    """How many points the first curve of the page has."""
    match = re.search(r'<polyline class="line c0" points="([^"]+)"', text)
    return len(match[1].split()) if match else 0


def test_a_row_that_is_being_written_is_left_out() -> None:
    whole = "epoch,accuracy,loss,val_loss\n0,0.5,0.9,1.0\n1,0.6,0.8,nan\n"
    assert job_curves.series_in(whole + "2,0.7,0.") == {
        "accuracy": [(0, 0.5), (1, 0.6)],
        "loss": [(0, 0.9), (1, 0.8)],
        "validation loss": [(0, 1.0)],
    }


@pytest.mark.parametrize(
    "text", ["", "epoch\n", "loss\n1\n", "epoch,loss\nx,1\n", '"' + "a" * 10**6 + "\n", "\0\n\0\n"]
)
def test_a_table_of_something_else_has_no_curves(text: str) -> None:
    assert job_curves.series_in(text) == {}


def test_no_curve_is_named_by_the_secret() -> None:
    """A title has blanks for "_", so the page with it could not be searched for the secret."""
    said = job_curves.series_in("epoch,a_secret\n1,2\n", b"a_secret")
    assert said == {"SECRET**": [(1, 2)]}


def test_a_very_long_history_is_thinned_out_and_its_last_epoch_stays() -> None:
    rows = "".join(f"{epoch},{1 / epoch}\n" for epoch in range(1, 100_001))
    ((name, points),) = job_curves.series_in("epoch,loss\n" + rows).items()
    assert name == "loss" and len(points) <= job_curves.MOST_EPOCHS
    assert points[-1] == (100_000, 1e-5)


def test_a_history_too_large_to_be_read_whole_has_points_from_its_begin_to_its_last_whole_row(
    tmp_path: Path,
) -> None:
    path, last = tmp_path / "history.csv", 400_000
    with path.open("w") as file:
        file.write("epoch,loss,val_loss\n")
        file.writelines(f"{epoch},{1 / epoch},{2 / epoch}\n" for epoch in range(1, last + 1))
        file.write("400001,0.")
    assert path.stat().st_size > job_curves.LARGEST
    series = job_curves.of_file(path)
    assert list(series) == ["loss", "validation loss"]
    points = series["validation loss"]
    assert len(points) == job_curves.MOST_EPOCHS and points[-1] == (last, 2 / last)
    assert points[0][0] < last / 500
    assert all(value == 2 / epoch for epoch, value in points)
    gaps = [after[0] - before[0] for before, after in itertools.pairwise(points)]
    assert min(gaps) > 0 and max(gaps) < 2 * last / job_curves.MOST_EPOCHS


def test_what_is_no_file_of_its_own_is_not_read(tmp_path: Path) -> None:
    """A job may put a link in the place of its history."""
    (tmp_path / "elsewhere.csv").write_text("epoch,loss\n1,0.5\n")
    (tmp_path / "history.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert job_curves.of_file(tmp_path / "history.csv") == {}
