"""Data from and results to gs:// and s3:// addresses, by the real clients and the local cloud."""

from __future__ import annotations

import io
import itertools
import json
import os
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import boto3
import numpy as np
import pytest
import torch
from google.cloud import storage
from hypothesis import given
from hypothesis import strategies as st

import archives
import big_tables
from local_cloud import Status
from tests.training.support import (
    FOR_LONG,
    Ended,
    as_process,
    as_replicas,
    free_port,
    inside,
    save,
    table,
    train,
    wait_until,
)
from training import train_nn

CPU = torch.device("cpu")
# The script runs inside the tests, which have imported all that lies beside it.
CODE = {file.name for file in Path(train_nn.__file__).parent.glob("[a-z]*.py")}
ARTEFACTS = {"model.pt", "history.csv", "training.log", "metrics.json"}


class Google:
    """A new bucket of Cloud Storage, and what a test looks at in it."""

    library, missing = "google-cloud-storage", "404"
    module = "google.cloud.storage"

    def __init__(self) -> None:
        self.name = f"bucket-{uuid.uuid4().hex}"
        self.address = f"gs://{self.name}"
        self.client = storage.Client()
        self.bucket = self.client.create_bucket(self.name)

    def put(self, name: str, content: bytes) -> None:
        self.bucket.blob(name).upload_from_string(content)

    def get(self, name: str) -> bytes:
        content: bytes = self.bucket.blob(name).download_as_bytes()
        return content

    def times(self, prefix: str = "") -> dict[str, Any]:
        """When each object below the prefix was written."""
        blobs = self.bucket.list_blobs(prefix=prefix)
        return {blob.name.removeprefix(prefix): blob.updated for blob in blobs}

    def close(self) -> None:
        self.client.close()


class Amazon:
    """The same of S3."""

    library, missing = "boto3", "The specified"
    module = "boto3"

    def __init__(self) -> None:
        self.name = f"bucket-{uuid.uuid4().hex}"
        self.address = f"s3://{self.name}"
        self.client = boto3.client("s3")
        self.client.create_bucket(Bucket=self.name)

    def put(self, name: str, content: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=name, Body=content)

    def get(self, name: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=self.name, Key=name)["Body"].read()
        return content

    def times(self, prefix: str = "") -> dict[str, Any]:
        """When each object below the prefix was written, to the second."""
        listed = self.client.list_objects_v2(Bucket=self.name, Prefix=prefix)
        objects = listed.get("Contents", [])
        return {item["Key"].removeprefix(prefix): item["LastModified"] for item in objects}

    def close(self) -> None:
        self.client.close()


Bucket = Google | Amazon
# For what starts processes of its own: the other cloud's client is the same as in the other tests.
ONE_CLOUD = [Google, pytest.param(Amazon, marks=pytest.mark.slow)]


@pytest.fixture(params=[Google, Amazon])
def bucket(request: pytest.FixtureRequest, cloud: Status, tmp_path: Path) -> Iterator[Bucket]:
    """A bucket with one archive in it, `data/table.npz`."""
    bucket = request.param()
    archive = save(tmp_path / "table.npz", preparation=json.dumps({"features": []}))
    bucket.put("data/table.npz", archive.read_bytes())
    yield bucket
    bucket.close()


def run(bucket: Bucket, *flags: Any) -> Ended:
    """Train on the bucket's archive; results go to `run` in it."""
    return inside(*on(bucket), "--epochs", 1, *flags)


def on(bucket: Bucket) -> tuple[str, ...]:
    table = f"{bucket.address}/data/table.npz"
    return ("--train", table, "--val", table, "--model_dir", f"{bucket.address}/run")


@pytest.mark.parametrize("end", ["", "/"])
def test_a_run_between_buckets_is_that_between_folders(
    bucket: Bucket, tmp_path: Path, end: str
) -> None:
    folder = f"{bucket.address}/jobs/7/model{end}"
    ended = run(bucket, "--epochs", 5, "--model_dir", folder)
    assert (ended.code, ended.err) == (0, "")
    assert f"wrote model.pt, metrics.json, history.csv and training.log to {folder}" in ended.out
    assert bucket.times("jobs/7/model/").keys() - CODE == ARTEFACTS | {"preparation.json"}
    train(tmp_path / "table.npz", tmp_path / "run", "--epochs", 5)
    ours, theirs = (
        torch.load(file, weights_only=True)["model"]
        for file in (tmp_path / "run/model.pt", io.BytesIO(bucket.get("jobs/7/model/model.pt")))
    )
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert bucket.get("jobs/7/model/training.log").decode() == ended.out


def test_metrics_come_last_so_that_they_say_that_all_is_there(bucket: Bucket) -> None:
    run(bucket)
    written = bucket.times("run/")
    assert written["metrics.json"] == max(written.values())


def test_no_preparation_of_another_model_stays_behind(bucket: Bucket, tmp_path: Path) -> None:
    run(bucket)
    assert run(bucket, "--train", save(tmp_path / "bare.npz")).code == 0
    assert bucket.times("run/").keys() - CODE == ARTEFACTS


def test_a_bucket_at_the_root_takes_results(bucket: Bucket) -> None:
    assert run(bucket, "--model_dir", bucket.address).code == 0
    assert bucket.times().keys() > ARTEFACTS


@pytest.mark.parametrize("bucket", ONE_CLOUD, indirect=True)
def test_two_replicas_read_and_write_a_bucket(bucket: Bucket, tmp_path: Path) -> None:
    flags = (*on(bucket), "--epochs", 5)
    with as_replicas(2, Path("unused"), tmp_path / "two", *flags, **addresses()) as running:
        assert running.codes() == [0, 0], [log.read_text() for log in running.logs]
    assert json.loads(bucket.get("run/metrics.json"))["world_size"] == 2


@pytest.fixture
def shards(bucket: Bucket, tmp_path: Path) -> Bucket:
    """A bucket with 41 rows in three archives, and what no shard is beside them."""
    arrays = table(41)
    for index, rows in enumerate((slice(0, 13), slice(13, 20), slice(20, 41))):
        own = {name: arrays[name][rows] for name in ("X_train", "y_train")}
        archive = save(tmp_path / "shard.npz", **own)
        bucket.put(f"shards/train-{index}.npz", archive.read_bytes())
    bucket.put("shards/deeper/train-3.npz", archive.read_bytes())
    bucket.put("shards/notes.txt", b"train")
    return bucket


@pytest.mark.parametrize("path", ["shards/", "shards/train-*.npz", "shards/*[0-2].npz", "sha*/t*"])
def test_the_shards_below_an_address_or_that_a_pattern_fits_are_one_table(
    shards: Bucket, tmp_path: Path, path: str
) -> None:
    flags = ("--epochs", 2, "--batch_size", 8)
    assert run(shards, "--train", f"{shards.address}/{path}", *flags).code == 0
    train(save(tmp_path / "whole.npz", **table(41)), tmp_path / "run", *flags)
    ours, theirs = (
        torch.load(file, weights_only=True)["model"]
        for file in (io.BytesIO(shards.get("run/model.pt")), tmp_path / "run/model.pt")
    )
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("window", [2**24, 60])
def test_of_shards_only_the_own_rows_are_kept(
    shards: Bucket, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    monkeypatch.setattr(big_tables, "WINDOW", window)
    monkeypatch.setattr(big_tables, "exchange", lambda own: [own] * 3)
    read = big_tables.read_table(
        f"{shards.address}/shards/", "train", rank=1, replicas=3, device=CPU, labels=(0, 1)
    )
    assert (read.rows_of(1), read.rows) == ([range(13, 27)], 41)
    X = torch.cat([X for X, _ in read.pieces()])
    assert torch.equal(X, torch.tensor(table(41)["X_train"][13:27], dtype=torch.float32))
    if window == 60:
        assert isinstance(read.held, big_tables.RowsInFiles)
        assert not any(isinstance(part.X.base, np.memmap) for part in read.held.parts)


def test_the_only_object_of_a_table_is_read_once(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched, read = list[str](), archives.read_object
    monkeypatch.setattr(archives, "read_object", lambda uri: (fetched.append(uri), read(uri))[1])
    folder = f"{bucket.address}/data/"
    big_tables.read_table(folder, "train", rank=0, replicas=1, device=CPU, labels=(0, 1))
    assert fetched == [f"{folder}table.npz"]


@pytest.mark.parametrize("path", ["none/", "shards/none-*.npz"])
def test_an_address_with_no_shards_below_is_refused(bucket: Bucket, path: str) -> None:
    ended = run(bucket, "--train", f"{bucket.address}/{path}")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"--train {bucket.address}/{path}: there is no " in ended.err


def test_one_object_is_read_once(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    read, fetched = train_nn.read_bytes, list[str]()

    def counted(path: str) -> bytes:
        fetched.append(path)
        return read(path)

    monkeypatch.setattr(train_nn, "read_bytes", counted)
    assert run(bucket).code == 0
    assert fetched == [f"{bucket.address}/data/table.npz"] * 2  # --train and --val


def addresses() -> dict[str, str]:
    """What points a process at the local cloud."""
    ours = ("STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT", "AWS_")
    return {name: value for name, value in os.environ.items() if name.startswith(ours)}


# ---- what cannot be used ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("flag", "rest", "words"),
    [
        ("--train", "HERE/none.npz", ["{missing}"]),
        ("--train", "NOWHERE/data.npz", ["{missing}"]),
        ("--train", "HERE", []),
        ("--train", "", ["names no bucket; write {scheme}bucket/name"]),
        ("--val", "HERE/none.npz", ["{missing}"]),
        ("--model_dir", "NOWHERE/run", ["{missing}"]),
        ("--model_dir", "Not A Bucket/run", []),
        ("--tensorboard_dir", "HERE/logs", ["this bucket is not mounted here; name a folder"]),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_before_the_training(
    bucket: Bucket, flag: str, rest: str, words: list[str]
) -> None:
    scheme = bucket.address.removesuffix(bucket.name)
    nowhere = f"no-{bucket.name}"
    address = scheme + rest.replace("NOWHERE", nowhere).replace("HERE", bucket.name)
    ended = run(bucket, flag, address)
    assert ended.code == 2, ended
    assert ended.err.startswith(f"train_nn.py: {flag} {address}: "), ended.err
    assert ended.err.count("\n") == 1, ended.err
    for word in words:
        assert word.format(missing=bucket.missing, scheme=scheme) in ended.err, ended.err
    assert "loss" not in ended.out
    assert not bucket.times("run/")


def test_trying_whether_results_can_be_written_leaves_nothing(bucket: Bucket) -> None:
    train_nn.require_writable("--model_dir", f"{bucket.address}/run")
    assert bucket.times().keys() == {"data/table.npz"}


def test_an_object_that_is_no_archive_is_refused_like_a_file(bucket: Bucket) -> None:
    bucket.put("table.csv", b"PassengerId,Survived\n1,0\n")
    ended = run(bucket, "--train", f"{bucket.address}/table.csv")
    assert ended.code == 2
    assert f"{bucket.address}/table.csv: File is not a zip file; check the name" in ended.err


def test_without_credentials_for_google_it_is_said(tmp_path: Path) -> None:
    # In a process of its own: in this one an activated local cloud gives out credentials.
    ended = as_process(
        "--train",
        "gs://bucket/table.npz",
        "--val",
        "gs://bucket/table.npz",
        GOOGLE_APPLICATION_CREDENTIALS=str(tmp_path / "none.json"),
    )
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "none.json" in ended.err


@pytest.fixture
def bare_amazon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment that tells boto3 nothing."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    return monkeypatch


ON_S3 = ("--train", "s3://bucket/table.npz", "--val", "s3://bucket/table.npz")


def test_without_credentials_for_amazon_it_is_said(bare_amazon: pytest.MonkeyPatch) -> None:
    ended = inside(*ON_S3)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "--train s3://bucket/table.npz: Unable to locate credentials; check" in ended.err


def test_a_cloud_that_does_not_answer_is_said(bare_amazon: pytest.MonkeyPatch) -> None:
    closed = f"http://127.0.0.1:{free_port()}"
    bare_amazon.setenv("AWS_ENDPOINT_URL", closed)
    bare_amazon.setenv("AWS_ACCESS_KEY_ID", "a")
    bare_amazon.setenv("AWS_SECRET_ACCESS_KEY", "b")
    bare_amazon.setenv("AWS_MAX_ATTEMPTS", "1")
    ended = inside(*ON_S3)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f'Could not connect to the endpoint URL: "{closed}/bucket/table.npz"' in ended.err


@pytest.mark.parametrize(
    ("table", "missing", "package"),
    [
        ("gs://b/t.npz", "google.api_core.exceptions", "google-cloud-storage"),
        ("gs://b/t.npz", "google.cloud.storage", "google-cloud-storage"),
        ("s3://b/t.npz", "boto3", "boto3"),
    ],
)
def test_without_the_client_library_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch, table: str, missing: str, package: str
) -> None:
    """Other packages, such as protobuf, are below `google` too, and may be there without it."""
    monkeypatch.setitem(sys.modules, missing, None)  # as if it were not there
    if missing == "google.cloud.storage":
        monkeypatch.delattr("google.cloud.storage")
    ended = inside("--train", table, "--val", table)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith(f"train_nn.py: --train {table}: ")
    assert ended.err.endswith(f"; pip install {package}\n")


# ---- the mount ----------------------------------------------------------------------------------
@pytest.mark.parametrize("module", [train_nn, archives])
def test_a_mounted_bucket_is_an_ordinary_folder(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "is_dir", lambda path: path == Path("/gcs/bucket"))
    for uri, path in [
        ("gs://bucket/a/b.npz", "/gcs/bucket/a/b.npz"),
        ("gs://bucket/run/", "/gcs/bucket/run"),
        ("gs://bucket", "/gcs/bucket"),
        ("gs://another/a.npz", "gs://another/a.npz"),
        ("s3://bucket/a.npz", "s3://bucket/a.npz"),
        ("folder/a.npz", "folder/a.npz"),
    ]:
        assert module.local_path(uri) == path


@given(st.text(max_size=30))
def test_any_path_that_is_not_a_uri_stays_unchanged(path: str) -> None:
    if "://" not in path:
        assert train_nn.local_path(path) == path


# ---- progress -----------------------------------------------------------------------------------
@pytest.mark.parametrize("bucket", ONE_CLOUD, indirect=True)
def test_who_follows_from_elsewhere_sees_the_history_grow(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("run/metrics.json", b"{}")  # of an earlier run, which was whole

    def lines() -> list[str]:
        written = "history.csv" in bucket.times("run/")
        return bucket.get("run/history.csv").decode().splitlines() if written else []

    flags = (*on(bucket), *FOR_LONG)
    with as_replicas(1, Path("unused"), tmp_path / "run", *flags, **addresses()):
        wait_until(lambda: bool(lines()))
        first = lines()
        wait_until(lambda: len(lines()) > len(first))
        assert "metrics.json" not in bucket.times("run/")  # this run is not
        assert first[0] == "epoch,loss,val_loss,val_accuracy,seconds" and first[1][:2] == "1,"


def test_progress_is_written_ten_times_and_every_two_seconds_and_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = save(tmp_path / "data.npz")
    clock = itertools.count(0, 0.125)  # an eighth of a second goes by whenever one looks
    real, tried = train_nn.write_files, list[Any]()

    def full(folder: str, files: Any) -> None:
        if "history.csv" not in files or "model.pt" in files:
            return real(folder, files)
        tried.append(files["history.csv"].decode().splitlines()[-1])
        raise OSError(28, "No space left on device")

    looks = SimpleNamespace(perf_counter=lambda: next(clock), time=time.time)
    monkeypatch.setattr(train_nn, "time", looks)
    monkeypatch.setattr(train_nn, "write_files", full)
    ended = train(archive, tmp_path / "run", "--epochs", 200, "--patience", 0)
    assert ended.code == 0
    assert ended.err == f"train_nn.py: --model_dir {tmp_path / 'run'}: No space left on device\n"
    seconds = [float(line.split(",")[-1]) for line in tried]
    assert len(seconds) > 3
    assert all(later - earlier < 3 for earlier, later in itertools.pairwise(seconds))
