"""What a run leaves behind and says."""

from __future__ import annotations

import csv
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.support import SCRIPT, as_process, save, table, train
from training import train_nn


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz")


def test_artefacts_lie_side_by_side_and_nothing_else(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    data = ("--train", archive, "--val", archive)
    ended = as_process(*data, "--epochs", 3, "--model_dir", folder)
    assert (ended.code, ended.err) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == [
        "history.csv", "metrics.json", "model.pt", "serve_nn.py", "train_nn.py", "training.log",
    ]  # fmt: skip
    assert (folder / "train_nn.py").read_bytes() == SCRIPT.read_bytes()
    assert (folder / "training.log").read_text() == ended.out


def test_the_last_lines_are_those_that_tuning_services_read(archive: Path, tmp_path: Path) -> None:
    lines = train(archive, tmp_path / "run", "--epochs", 3).out.splitlines()
    assert re.fullmatch(r"validation:accuracy = [01]\.\d{4}", lines[-2])
    assert re.fullmatch(r"validation:loss = \d+\.\d{4}", lines[-1])


def test_the_model_loads_without_running_code_and_gives_the_accuracy_that_was_said(
    archive: Path, tmp_path: Path
) -> None:
    train(archive, tmp_path, "--epochs", 30, "--hidden", "5,4,3")
    saved = torch.load(tmp_path / "model.pt", weights_only=True)
    model = train_nn.build_model(saved["features"], saved["hidden"], seed=99)
    model.load_state_dict(saved["model"])
    X, y = table()["X_val"], table()["y_val"]
    with torch.no_grad():
        right = (model(torch.tensor(X, dtype=torch.float32))[:, 0] > 0).numpy() == y
    assert json.loads((tmp_path / "metrics.json").read_text())["accuracy"] == pytest.approx(
        right.mean()
    )


def test_the_model_holds_each_weight_once(archive: Path, tmp_path: Path) -> None:
    train(archive, tmp_path, "--epochs", 1)
    state = torch.load(tmp_path / "model.pt", weights_only=True)["model"]
    for name, weight in state.items():
        assert weight.untyped_storage().nbytes() == weight.nbytes, name


def test_metrics_tell_the_whole_run(archive: Path, tmp_path: Path) -> None:
    train(archive, tmp_path, "--epochs", 7, "--seed", 3)
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["world_size"] == 1
    number = 7 * 64 + 64 + 64 * 32 + 32 + 32 + 1
    held = {
        "parameters": 4 * number,
        "optimiser": 2 * 4 * number + 6 * 4,  # and of each of 6 tensors the number of steps
    }
    assert metrics["replicas"] == [{"rank": 0, "rows": {"start": 0, "stop": 40}, "bytes": held}]
    assert metrics["epochs"] == {"last": 7, "best": 7, "resumed": []}
    assert metrics["device"] == "cpu"
    assert metrics["configuration"]["seed"] == 3
    assert set(metrics["seconds"]) == {"start_up", "data", "training"}
    assert set(metrics["versions"]) == {"python", "torch"}


def test_the_history_has_a_line_for_every_epoch(archive: Path, tmp_path: Path) -> None:
    train(archive, tmp_path, "--epochs", 12)
    rows = list(csv.DictReader((tmp_path / "history.csv").read_text().splitlines()))
    assert [int(row["epoch"]) for row in rows] == list(range(1, 13))
    assert list(rows[0]) == ["epoch", "loss", "val_loss", "val_accuracy", "seconds"]
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"])


def test_the_preparation_is_handed_on(tmp_path: Path) -> None:
    preparation = json.dumps({"features": ["a", "b"]})
    archive = save(tmp_path / "data.npz", preparation=preparation)
    train(archive, tmp_path, "--epochs", 1)
    assert (tmp_path / "preparation.json").read_text() == preparation
    assert torch.load(tmp_path / "model.pt", weights_only=True)["preparation"] == preparation


def test_results_go_where_the_service_says_unless_the_flag_says_otherwise(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SM_MODEL_DIR", str(tmp_path / "sagemaker"))
    assert train_nn.parse_flags(["--train=t", "--val=v"]).model_dir == str(tmp_path / "sagemaker")
    monkeypatch.setenv("AIP_MODEL_DIR", str(tmp_path / "vertex"))
    assert train_nn.parse_flags(["--train=t", "--val=v"]).model_dir == str(tmp_path / "vertex")
    train(archive, tmp_path / "mine", "--epochs", 1)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["mine"]


def test_flags_that_a_service_adds_are_reported_and_harmless(archive: Path, tmp_path: Path) -> None:
    ended = train(archive, tmp_path, "--epochs", 1, "--cluster=here", "--job", "7")
    assert ended.code == 0
    assert "ignored, not flags of this script: --cluster=here --job 7" in ended.out


def test_the_first_line_says_what_is_trained_on_what(archive: Path, tmp_path: Path) -> None:
    first = train(archive, tmp_path, "--epochs", 1, "--batch_size", 16).out.splitlines()[0]
    assert first == "40 rows, 7 features, 2625 weights, 3 steps an epoch, on cpu"


def test_a_run_shows_about_ten_lines_of_progress(archive: Path, tmp_path: Path) -> None:
    out = train(archive, tmp_path, "--epochs", 1000, "--patience", 0).out
    epochs = [int(epoch) for epoch in re.findall(r"^epoch +(\d+)", out, re.MULTILINE)]
    assert epochs[:3] == [1, 100, 200] and epochs[-1] == 1000


def test_a_failed_write_keeps_the_older_results(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    train(archive, folder, "--epochs", 1)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    synced = itertools.count(1)

    def full(file: int) -> None:
        if next(synced) == 5:  # of metrics.json, the last one: all others are written by then
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    ended = train(archive, folder, "--epochs", 2)
    assert ended.code == 2 and "No space left on device" in ended.err
    assert "validation:accuracy" not in ended.out  # nothing is announced that is not there
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_no_preparation_of_another_model_stays_behind(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    prepared = save(tmp_path / "prepared.npz", preparation=json.dumps({"features": []}))
    train(prepared, folder, "--epochs", 1)
    assert (folder / "preparation.json").exists()
    train(archive, folder, "--epochs", 1)
    assert not (folder / "preparation.json").exists()


def test_an_interrupted_run_says_so_and_writes_no_model(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(train_nn, "add_up_gradients", interrupt)
    ended = train(archive, tmp_path / "run")
    assert (ended.code, ended.err) == (130, "train_nn.py: interrupted, no model was written\n")
    assert not list((tmp_path / "run").iterdir())


def test_labels_may_stand_in_a_column_of_their_own(tmp_path: Path) -> None:
    flat, column = tmp_path / "flat.npz", tmp_path / "column.npz"
    save(flat)
    save(column, y_train=table()["y_train"][:, None], y_val=table()["y_val"][:, None].astype(bool))
    for archive in (flat, column):
        train(archive, archive.with_suffix(""), "--epochs", 3)
    weights = [
        torch.load(archive.with_suffix("") / "model.pt", weights_only=True)["model"]["0.weight"]
        for archive in (flat, column)
    ]
    np.testing.assert_array_equal(*weights)
