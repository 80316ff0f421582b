"""Lower precision, as far as a CPU has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.pool import Pool, train_as, weights_of
from tests.training.support import save, table, train
from training import train_nn


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "a.npz", **table(rows=400))


def trained(archive: Path, run: Path, *flags: Any) -> torch.Tensor:
    flags = ("--epochs", 30, "--batch_size", 64, "--learning_rate", 0.01, *flags)
    done = train(archive, run, "--device", "cpu", *flags)
    assert (done.code, done.err) == (0, "")
    return weights_of(run)


def test_in_bfloat16_weights_stay_float32_and_the_model_is_as_good(
    archive: Path, tmp_path: Path
) -> None:
    full = trained(archive, tmp_path / "full")
    lower = trained(archive, tmp_path / "lower", "--precision", "bfloat16")
    assert lower.dtype == torch.float32
    assert not torch.equal(lower, full)  # it is another arithmetic
    full_one, lower_one = (
        json.loads((tmp_path / run / "metrics.json").read_text()) for run in ("full", "lower")
    )
    assert lower_one["accuracy"] == pytest.approx(full_one["accuracy"], abs=0.02)
    assert lower_one["loss"] == pytest.approx(full_one["loss"], abs=0.02)


def test_in_bfloat16_the_same_run_gives_the_same_bits(archive: Path, tmp_path: Path) -> None:
    flags = ("--precision", "bfloat16")
    first, again = (trained(archive, tmp_path / name, *flags) for name in "ab")
    assert torch.equal(first, again)


@pytest.mark.parametrize("parallelism", ["data", "model"])
def test_replicas_compute_in_bfloat16_too(
    pool: Pool, archive: Path, tmp_path: Path, parallelism: str
) -> None:
    flags = ("--train", archive, "--val", archive, "--model_dir", tmp_path / "run", "--epochs", 5,
             "--precision", "bfloat16", "--parallelism", parallelism)  # fmt: skip
    ended = pool.run(2, train_as, flags)
    assert [each.code for each in ended] == [0, 0], ended
    assert weights_of(tmp_path / "run").isfinite().all()


def test_tf32_is_refused_where_there_is_no_gpu_that_has_it(archive: Path, tmp_path: Path) -> None:
    done = train(archive, tmp_path / "run", "--device", "cpu", "--precision", "tf32")
    assert done.code == 2 and done.err == (
        "train_nn.py: --precision tf32: only CUDA GPUs from Ampere (A100, L4) on have it; "
        "choose float32\n"
    )
    assert not (tmp_path / "run/model.pt").exists()


def test_a_notebooks_own_precision_stays(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up_device = train_nn.set_up_device

    def as_on_a_gpu(run: train_nn.Run) -> None:
        set_up_device(run)
        torch.set_float32_matmul_precision("high")

    before = torch.get_float32_matmul_precision()
    monkeypatch.setattr(train_nn, "set_up_device", as_on_a_gpu)
    trained(archive, tmp_path / "run", "--precision", "bfloat16")
    assert torch.get_float32_matmul_precision() == before != "high"
    assert not torch.is_autocast_enabled("cpu")
