"""Data from and results to gs:// addresses, by the real client and a server on the loopback."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from google.cloud import storage
from hypothesis import given
from hypothesis import strategies as st

from tests.local_cloud.gcs.support import Server
from tests.training.support import (
    FOR_LONG,
    as_replicas,
    inside,
    save,
    table,
    train,
    train_nn,
    wait_until,
)

ARTEFACTS = {"model.pt", "history.csv", "training.log", "metrics.json"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path) as server:
        yield server


@pytest.fixture
def bucket(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[storage.Bucket]:
    """A bucket with one archive in it, `data/table.npz`."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    client = storage.Client(project="p")
    bucket = client.create_bucket("bucket")
    archive = save(tmp_path / "table.npz", preparation=json.dumps({"features": []}))
    bucket.blob("data/table.npz").upload_from_filename(archive)
    yield bucket
    client.close()


TABLE = "gs://bucket/data/table.npz"


def names(bucket: storage.Bucket, prefix: str) -> set[str]:
    return {blob.name.removeprefix(prefix) for blob in bucket.list_blobs(prefix=prefix)}


@pytest.mark.parametrize("folder", ["gs://bucket/jobs/7/model", "gs://bucket/jobs/7/model/"])
def test_a_run_between_buckets_is_that_between_folders(
    bucket: storage.Bucket, tmp_path: Path, folder: str
) -> None:
    ended = inside("--train", TABLE, "--val", TABLE, "--epochs", 5, "--model_dir", folder)
    assert (ended.code, ended.err) == (0, "")
    assert f"wrote model.pt, metrics.json, history.csv and training.log to {folder}" in ended.out
    assert names(bucket, "jobs/7/model/") == ARTEFACTS | {"preparation.json"}
    train(tmp_path / "table.npz", tmp_path / "run", "--epochs", 5)
    bucket.blob("jobs/7/model/model.pt").download_to_filename(tmp_path / "model.pt")
    ours, theirs = (
        torch.load(file, weights_only=True)["model"]
        for file in (tmp_path / "run/model.pt", tmp_path / "model.pt")
    )
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert bucket.blob("jobs/7/model/training.log").download_as_text() == ended.out


def test_metrics_come_last_so_that_they_say_that_all_is_there(bucket: storage.Bucket) -> None:
    inside("--train", TABLE, "--val", TABLE, "--epochs", 1, "--model_dir", "gs://bucket/run")
    written = {blob.name: blob.time_created for blob in bucket.list_blobs(prefix="run/")}
    assert max(written, key=lambda name: written[name]) == "run/metrics.json"


def test_no_preparation_of_another_model_stays_behind(
    bucket: storage.Bucket, tmp_path: Path
) -> None:
    for archive in (TABLE, save(tmp_path / "bare.npz")):
        inside("--train", archive, "--val", TABLE, "--epochs", 1, "--model_dir", "gs://bucket/run")
    assert names(bucket, "run/") == ARTEFACTS


def test_a_bucket_at_the_root_takes_results(bucket: storage.Bucket) -> None:
    assert inside("--train", TABLE, "--val", TABLE, "--model_dir", "gs://bucket").code == 0
    assert names(bucket, "") > ARTEFACTS


def test_two_replicas_read_and_write_a_bucket(
    bucket: storage.Bucket, server: Server, tmp_path: Path
) -> None:
    flags = ("--train", TABLE, "--val", TABLE, "--model_dir", "gs://bucket/two", "--epochs", 5)
    environment = {"STORAGE_EMULATOR_HOST": server.url}
    with as_replicas(2, Path("unused"), tmp_path / "two", *flags, **environment) as running:
        assert running.codes() == [0, 0], [log.read_text() for log in running.logs]
    metrics = json.loads(bucket.blob("two/metrics.json").download_as_text())
    assert metrics["world_size"] == 2


# ---- what cannot be used ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--train", "gs://bucket/none.npz"], ["--train gs://bucket/none.npz", "404"]),
        (["--train", "gs://nowhere/data.npz"], ["--train gs://nowhere/data.npz", "404"]),
        (["--train", "gs://bucket"], ["--train gs://bucket:"]),
        (["--train", "gs://"], ["--train gs://: names no bucket"]),
        (["--val", "gs://bucket/none.npz"], ["--val gs://bucket/none.npz", "404"]),
        (["--model_dir", "gs://nowhere/run"], ["--model_dir gs://nowhere/run", "404"]),
        (["--model_dir", "gs://Not A Bucket/run"], ["--model_dir gs://Not A Bucket/run"]),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_before_the_training(
    bucket: storage.Bucket, flags: list[str], words: list[str]
) -> None:
    good = ("--train", TABLE, "--val", TABLE, "--model_dir", "gs://bucket/run", "--epochs", 1)
    ended = inside(*good, *flags)
    assert ended.code == 2, ended
    assert ended.err.startswith("train_nn.py: ") and ended.err.count("\n") == 1, ended.err
    assert all(word in ended.err for word in words), ended.err
    assert "epoch" not in ended.out
    assert names(bucket, "run/") == set()


def test_an_object_that_is_no_archive_is_refused_like_a_file(bucket: storage.Bucket) -> None:
    bucket.blob("table.csv").upload_from_string("PassengerId,Survived\n1,0\n")
    ended = inside("--train", "gs://bucket/table.csv", "--val", TABLE)
    assert ended.code == 2
    assert "gs://bucket/table.csv: is no whole npz archive" in ended.err


def test_without_credentials_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    ended = inside("--train", TABLE, "--val", TABLE)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "none.json" in ended.err


def test_without_the_client_library_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "google.cloud.storage", None)  # as if it were not there
    ended = inside("--train", TABLE, "--val", TABLE)
    sentence = f"train_nn.py: --train {TABLE}: needs google-cloud-storage; install it with pip\n"
    assert (ended.code, ended.err) == (2, sentence)


# ---- the mount ----------------------------------------------------------------------------------
def test_a_mounted_bucket_is_an_ordinary_folder(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    for address, path in [
        ("gs://bucket/a/b.npz", f"{tmp_path}/bucket/a/b.npz"),
        ("gs://bucket/run/", f"{tmp_path}/bucket/run/"),
        ("gs://bucket", f"{tmp_path}/bucket"),
        ("gs://another/a.npz", "gs://another/a.npz"),
        ("folder/a.npz", "folder/a.npz"),
    ]:
        assert train_nn.on_mount(address, "--train", str(tmp_path)) == path


@given(st.text(max_size=30))
def test_any_path_without_an_address_is_left_as_it_is(path: str) -> None:
    if "://" not in path:
        assert train_nn.on_mount(path, "--train") == path


# ---- progress -----------------------------------------------------------------------------------
def test_who_follows_from_elsewhere_sees_the_history_grow(
    bucket: storage.Bucket, server: Server, tmp_path: Path
) -> None:
    bucket.blob("run/metrics.json").upload_from_string("{}")  # of an earlier run, which was whole

    def size(name: str) -> int:
        blob = bucket.get_blob(f"run/{name}")
        return blob.size if blob else 0

    flags = ("--train", TABLE, "--val", TABLE, "--model_dir", "gs://bucket/run", *FOR_LONG)
    environment = {"STORAGE_EMULATOR_HOST": server.url}
    with as_replicas(1, Path("unused"), tmp_path / "run", *flags, **environment):
        wait_until(lambda: size("history.csv") > 0)
        first = size("history.csv")
        wait_until(lambda: size("history.csv") > first)
        assert size("metrics.json") == 0  # this run is not
        text = bucket.blob("run/history.csv").download_as_text()
        assert text.startswith("epoch,loss,val_loss,val_accuracy,seconds\n1,")


def test_progress_is_written_once_a_second_and_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    X = torch.tensor(table()["X_train"], dtype=torch.float32)
    data = train_nn.Table(X, (X[:, :1] > 0).float(), 0, len(X))
    model = train_nn.build_model(7, [4], seed=0)
    flags = train_nn.parse_flags(["--train=", "--val=", "--epochs=40", "--patience=0"])
    clock = itertools.count(0, 0.125)  # an eighth of a second goes by whenever one looks
    monkeypatch.setattr(train_nn, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    tried: list[Any] = []

    def full(results: Any) -> None:
        tried.append(results["history.csv"].decode().splitlines()[-1])
        raise OSError(28, "No space left on device")

    history, _ = train_nn.train(model, data, data, flags, lambda _: None, full)
    assert len(history) == 40
    seconds = [float(line.split(",")[-1]) for line in tried]
    assert seconds[0] > 1
    assert all(later - earlier > 1 for earlier, later in itertools.pairwise(seconds))
